// What was asked of the other side of a copy, held against what it sends.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace fastgpu::transfer {

enum class EntryKind : std::uint8_t { file, directory, link };

/// The names at the top of a copy that may come: the other side must not choose which files it
/// writes here.
class AskedNames {
 public:
  /// `sources` are paths as the user wrote them. A home directory ("~") goes by `home_name`.
  AskedNames(std::span<const std::string> sources, const std::string& home_name);

  /// Takes note of an entry that came. Throws denied for one whose top name was not asked for, came
  /// already, or is of another kind than that source can have.
  void take(const std::string& path, EntryKind kind);

  /// Throws remote where a source has not come.
  void check_complete() const;

 private:
  struct Wanted {
    int count = 0;
    bool must_be_directory = false;
  };

  std::map<std::string, Wanted> wanted_;
  bool takes_any_ = false;  ///< The content of a directory was asked for, whatever its names.
};

}  // namespace fastgpu::transfer
