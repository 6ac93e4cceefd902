// The free space of a disk, and the disk space that a folder uses.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "base/cancel.hpp"
#include "base/units.hpp"

namespace fastgpu::state {

struct Room {
  Bytes free;
  Bytes total;
};

/// Returns the free and total space of the disk that has `path`. Throws system_error.
Room room_at(const std::filesystem::path& path);

/// Returns true if less than 5 % and less than 10 GB are free.
bool is_nearly_full(const Room& room);

/// A kind of folder whose size is also counted separately, anywhere in a tree. It is identified by
/// its own name and its parent's.
struct KindOfFolder {
  std::string_view parent;
  std::string_view name;
};

struct FolderUse {
  std::filesystem::path path;
  Bytes size;  ///< The size in blocks on the disk. A file with several names counts once.
  std::vector<Bytes> parts;  ///< The part of the size that is in folders of each kind.
  bool is_whole = true;      ///< False if a part cannot be read.
};

/// Returns the disk space that `path` uses, without following links, and without other disks that
/// are mounted below it. Throws only ErrorKind::interrupted.
FolderUse measure(const std::filesystem::path& path, std::span<const KindOfFolder> kinds,
                  const Cancel& cancel);

}  // namespace fastgpu::state
