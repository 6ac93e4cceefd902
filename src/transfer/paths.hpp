// Paths below a directory that lead nowhere else, whatever the other side sent.
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.hpp"
#include "transfer/record.hpp"

namespace fastgpu::transfer {

inline constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// Returns false for a path with an empty name, ".", ".." or a NUL, and for a rooted one.
bool is_inner_path(std::string_view path) noexcept;
/// Throws ErrorKind::denied unless is_inner_path().
void check_inner_path(std::string_view path);

/// Splits "a/b/c" into "a/b" and "c"; "c" into "" and "c".
std::pair<std::string, std::string> split_path(const std::string& path);

/// Returns a source's name at its destination; empty for "." and the like, which mean their
/// content.
std::string top_name(const std::filesystem::path& source);

/// Opens the directory `path` below `root` without following a link on the way; empty, with errno,
/// if it does not exist.
UniqueFd open_below(int root, std::string_view path);

/// Returns the read, write, run and sticky bits; never set-user-ID or set-group-ID, as owners
/// change in the copy.
mode_t permission_bits(std::uint32_t mode) noexcept;

timespec as_timespec(FileTime time) noexcept;

}  // namespace fastgpu::transfer
