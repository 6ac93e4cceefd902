// Makes a finished copy visible: moves each file and each new directory by one rename.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "transfer/record.hpp"

namespace fastgpu::transfer {

/// Moves everything in the directory `from` into the directory `to`. Replaces files one by one and
/// merges existing directories. Entries for directories on other file systems are copied there
/// first. A symbolic link is replaced, and not followed. Returns the paths of the directories that
/// existed before. Before anything is moved, throws conflict if a directory would replace a file or
/// the other way round, or anything a device, a pipe or a socket, and denied or capacity if a
/// directory cannot be written.
std::set<std::string> publish(int from, int to);

/// Sets the modes and times of the directories below `root`, from the innermost ones on, except for
/// those in `existing`.
enum class Rights : std::uint8_t {
  as_recorded,
  /// The recorded rights, plus write permission for the owner: without it a directory cannot be
  /// moved.
  owner_may_write,
};
void finish_directories(int root, const std::vector<DirectoryRecord>& directories,
                        const std::set<std::string>& existing, Rights rights);

}  // namespace fastgpu::transfer
