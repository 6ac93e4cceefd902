// Room on the state directory's disk that is taken before it is needed, so that a cluster can be
// deleted once the disk is full.
//
// The write-ahead log keeps its file and its size: later writes overwrite it and need no further
// room. So the journal of a deletion can be written when other writes fail.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/units.hpp"

namespace fastgpu::state {

/// The log is emptied into the database when it has this many pages of 4 KiB.
constexpr int kPagesInLog = 128;

/// Returns the log file's size for `free` bytes of free space: at most 4 MiB, and at most a
/// quarter.
Bytes reserve_for(Bytes free);

/// Gives the log's file that size, if it is smaller and its file system supports it. Never throws:
/// without a reserve everything works until the disk is full.
void reserve_room(const std::filesystem::path& log) noexcept;

/// Returns whether the log's file would get its room again once it has been truncated.
bool can_reserve_again(const std::filesystem::path& log) noexcept;

/// Throws ErrorKind::capacity if the disk below `directory` has less than 1 MiB left: too little
/// for a new operation.
void require_room(const std::filesystem::path& directory);

}  // namespace fastgpu::state
