// The directories of this machine that no copy may contain: fastgpu's own keys and records.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace fastgpu::transfer {

/// A directory that stays on this machine.
struct KeptDirectory {
  std::filesystem::path path;
  /// The name of a directory in it whose content may be copied; empty for none.
  std::string open{};
};

/// Sets the directories for all copies that this process begins from now on. They need not exist.
void keep_here(std::vector<KeptDirectory> directories);

/// The kept directories that exist now, by device and inode: a copy may reach them by any name.
class KeptHere {
 public:
  KeptHere();

  /// Returns true if the status is that of a kept directory.
  bool has(const struct stat& info) const;

  /// Throws ErrorKind::usage if a source of a copy is a kept directory or is below one, except
  /// below its open directory.
  void check_source(const std::filesystem::path& source) const;

 private:
  struct Id {
    dev_t device = 0;
    ino_t inode = 0;
    friend bool operator==(const Id&, const Id&) = default;
  };
  static Id id_of(const struct stat& info) { return {info.st_dev, info.st_ino}; }

  std::vector<std::pair<Id, KeptDirectory>> kept_;
};

}  // namespace fastgpu::transfer
