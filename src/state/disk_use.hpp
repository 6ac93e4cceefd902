// The free space of a disk, and the space that a folder takes.
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

/// Returns the room of the disk that `path` is on. Throws system_error.
Room room_at(const std::filesystem::path& path);

/// Returns whether less than 5 % and less than 10 GB are free.
bool is_nearly_full(const Room& room);

/// A kind of folders that are counted apart anywhere in a tree, identified by their own name and
/// their parent's.
struct KindOfFolder {
  std::string_view parent;
  std::string_view name;
};

struct FolderUse {
  std::filesystem::path path;
  Bytes size;                ///< Blocks on the disk; a file with several names counts once.
  std::vector<Bytes> parts;  ///< The part of it in folders of each kind.
  bool is_whole = true;      ///< False if a part may not be read.
};

/// Returns how much `path` takes, without following links, and without other disks that are mounted
/// below it. Throws only ErrorKind::interrupted.
FolderUse measure(const std::filesystem::path& path, std::span<const KindOfFolder> kinds,
                  const Cancel& cancel);

}  // namespace fastgpu::state
