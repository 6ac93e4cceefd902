// The common parts of every vendor's search: variables, small files, and the list of searched
// places.
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

  /// Returns the variable's value; "" if it is not set.
  std::string variable(const char* name) const;
  /// Returns the key, secret or token in a variable, without blanks and line ends around it, which
  /// come along when it is copied; "" if it is not set. Throws denied for a blank, a quotation mark
  /// or a character beyond ASCII inside it: no cloud has such keys, and an answer of the cloud
  /// would not name the reason.
  std::string key(const char* name) const;
  /// Returns the first of these variables that is set and not empty; "" if all are unset.
  std::string first_variable(const std::vector<const char*>& names) const;
  /// Returns true if the variable is "true" (or "1"), in any case.
  bool is_true(const char* name) const;

  /// Returns the path in the variable `name`, or `in_home` below the home directory. "~/" means the
  /// home directory.
  std::filesystem::path path(const char* name, const char* in_home) const;
  std::filesystem::path expand(const std::string& path) const;

  /// Returns the file's text; absent if it is missing. Throws usage for a folder, a device or a
  /// file over 1 MiB, denied if it cannot be read.
  std::optional<std::string> file(const std::filesystem::path& path) const;

  /// Returns the file's sections; empty if it is missing.
  Sections ini(const std::filesystem::path& path) const;

  /// Remembers a searched place for not_found().
  void looked_at(const std::string& place) { looked_.push_back(place); }

  /// Returns "no credentials for Huawei Cloud: looked at A, B and C; set ...".
  Error not_found(const std::string& vendor, const std::string& advice) const;

 private:
  const Sources& sources_;
  std::vector<std::string> looked_;
};

/// Returns the setting's value; "" if the section lacks it.
std::string setting(const Section& section, const char* key);

}  // namespace fastgpu::provision::credentials
