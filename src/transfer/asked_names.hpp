// Checks the names that the other side sends against those that were requested.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace fastgpu::transfer {

enum class EntryKind : std::uint8_t { file, directory, link };

/// The names that are allowed at the top of a copy: the other side must not choose which files it
/// writes here.
class AskedNames {
 public:
  /// `sources` are the sources as the user wrote them. A home directory ("~") has the name
  /// `home_name`.
  AskedNames(std::span<const std::string> sources, const std::string& home_name);

  /// Checks an entry that was received. Throws denied if its top name was not requested or was
  /// received already, or if the source cannot have this kind.
  void take(const std::string& path, EntryKind kind);

  /// Throws remote if a source was not received.
  void check_complete() const;

 private:
  struct Wanted {
    int count = 0;
    bool must_be_directory = false;
  };

  std::map<std::string, Wanted> wanted_;
  /// The content of a directory was requested, so that any names are allowed.
  bool takes_any_ = false;
};

}  // namespace fastgpu::transfer
