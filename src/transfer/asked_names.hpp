// The requested names of a copy, checked against what the other side sends.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace fastgpu::transfer {

enum class EntryKind : std::uint8_t { file, directory, link };

/// The names that may come at the top of a copy: the other side must not choose which files it
/// writes here.
class AskedNames {
 public:
  /// Takes `sources` as the user wrote them. A home directory ("~") has the name `home_name`.
  AskedNames(std::span<const std::string> sources, const std::string& home_name);

  /// Records an entry that came. Throws denied if its top name was not requested or came already,
  /// or if it is of another kind than that source can have.
  void take(const std::string& path, EntryKind kind);

  /// Throws remote if a source has not come.
  void check_complete() const;

 private:
  struct Wanted {
    int count = 0;
    bool must_be_directory = false;
  };

  std::map<std::string, Wanted> wanted_;
  bool takes_any_ = false;  ///< The content of a directory was requested, with any names.
};

}  // namespace fastgpu::transfer
