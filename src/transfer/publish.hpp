// Makes a finished copy visible: each file and each new directory by one rename.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "transfer/record.hpp"

namespace fastgpu::transfer {

/// Moves everything in the directory `from` into the directory `to`, replacing files one by one and
/// merging directories that exist; into those that are on other file systems it is copied first.
/// Throws before anything has moved: conflict where a directory would replace a file or the other
/// way round, denied or capacity where a directory takes nothing. Returns the paths of the
/// directories that were there already.
std::set<std::string> publish(int from, int to);

/// Gives the directories below `root` their modes and times, the innermost first, leaving out those
/// in `existing`.
enum class Rights : std::uint8_t {
  as_recorded,
  owner_may_write,  ///< And beyond that as recorded: what is to be moved must allow it.
};
void finish_directories(int root, const std::vector<DirectoryRecord>& directories,
                        const std::set<std::string>& existing, Rights rights);

}  // namespace fastgpu::transfer
