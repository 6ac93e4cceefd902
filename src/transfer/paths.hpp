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

/// Not a path with an empty name, ".", ".." or a NUL, and not a rooted one.
bool is_inner_path(std::string_view path) noexcept;
/// Throws ErrorKind::denied for another one.
void check_inner_path(std::string_view path);

/// "a/b/c" as "a/b" and "c"; "c" as "" and "c".
std::pair<std::string, std::string> split_path(const std::string& path);

/// Returns what a source is called at its destination: empty for "." and the like, whose content is
/// meant.
std::string top_name(const std::filesystem::path& source);

/// Opens the directory `path` below `root` without following a link on the way; empty, with errno,
/// where there is none.
UniqueFd open_below(int root, std::string_view path);

/// Read, write, run and sticky; never set-user-ID or set-group-ID, as owners change on the way.
mode_t permission_bits(std::uint32_t mode) noexcept;

timespec as_timespec(FileTime time) noexcept;

}  // namespace fastgpu::transfer
