// What every vendor's search has in common: variables, small files, and what was looked at.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "provision/credentials/credentials.hpp"
#include "provision/credentials/ini.hpp"
#include "provision/credentials/json_keys.hpp"

namespace fastgpu::provision::credentials {

class Search {
 public:
  explicit Search(const Sources& sources) : sources_(sources) {}

  const Sources& sources() const noexcept { return sources_; }

  /// The variable's value; "" where it is not set.
  std::string variable(const char* name) const;
  /// The first of them that is set to something; "".
  std::string first_variable(const std::vector<const char*>& names) const;
  /// Is the variable "true" (or "1"), in any case?
  bool is_true(const char* name) const;

  /// The path that `name` gives, or `in_home` below the home directory. "~/" is understood.
  std::filesystem::path path(const char* name, const char* in_home) const;
  std::filesystem::path expand(const std::string& path) const;

  /// The file's text; absent where there is none. Throws usage for what is no file or is over
  /// 1 MiB, denied where it may not be read.
  std::optional<std::string> file(const std::filesystem::path& path) const;

  /// The file's sections; none where there is no file.
  Sections ini(const std::filesystem::path& path) const;

  /// Remembers a place in vain, for not_found().
  void looked_at(const std::string& place) { looked_.push_back(place); }

  /// "no credentials for Huawei Cloud: looked at A, B and C; set ..."
  Error not_found(const std::string& vendor, const std::string& advice) const;

 private:
  const Sources& sources_;
  std::vector<std::string> looked_;
};

/// The setting's value; "" where the section has none.
std::string setting(const Section& section, const char* key);

}  // namespace fastgpu::provision::credentials
