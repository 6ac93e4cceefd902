// Makes a finished copy visible: each file and each new directory by one rename.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "transfer/record.hpp"

namespace fastgpu::transfer {

/// Moves everything in the directory `from` into the directory `to`, replacing files one by one and
/// merging directories that exist. For directories on other file systems the entries are copied
/// there first. Throws before anything has moved: conflict if a directory would replace a file or
/// the other way round, denied or capacity if a directory cannot be written. Returns the paths of
/// the directories that existed before.
std::set<std::string> publish(int from, int to);

/// Gives the directories below `root` their modes and times, the innermost first, leaving out those
/// in `existing`.
enum class Rights : std::uint8_t {
  as_recorded,
  /// The recorded rights plus write permission for the owner, which a directory needs to be moved.
  owner_may_write,
};
void finish_directories(int root, const std::vector<DirectoryRecord>& directories,
                        const std::set<std::string>& existing, Rights rights);

}  // namespace fastgpu::transfer
