// Reserves space on the state directory's disk, so that a cluster can be deleted even if the disk
// is full.
//
// The file of the write-ahead log keeps its size: later writes overwrite it and need no further
// space. So the journal of a deletion can be written when other writes fail.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/units.hpp"

namespace fastgpu::state {

/// The number of pages of 4 KiB in the log after which it is moved into the database.
constexpr int kPagesInLog = 128;

/// Returns the size of the log's file for `free` bytes of free space: at most 4 MiB, and at most a
/// quarter of them.
Bytes reserve_for(Bytes free);

/// Extends the log's file to that size if it is smaller and the file system supports it. Never
/// throws: without a reserve, everything works until the disk is full.
void reserve_room(const std::filesystem::path& log) noexcept;

/// Returns true if the log's file could be extended again after it is truncated.
bool can_reserve_again(const std::filesystem::path& log) noexcept;

/// Throws ErrorKind::capacity if the disk of `directory` has less than 1 MiB left, which is too
/// little for a new operation.
void require_room(const std::filesystem::path& directory);

}  // namespace fastgpu::state
