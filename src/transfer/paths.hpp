// Paths that cannot lead out of a directory, even if the other side sends them.
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.hpp"
#include "transfer/record.hpp"

namespace fastgpu::transfer {

inline constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// Returns true for a relative path without an empty name, ".", ".." or a NUL.
bool is_inner_path(std::string_view path) noexcept;
/// Throws ErrorKind::denied unless is_inner_path().
void check_inner_path(std::string_view path);

/// Splits "a/b/c" into "a/b" and "c"; "c" into "" and "c".
std::pair<std::string, std::string> split_path(const std::string& path);

/// Returns the name of a source at its destination; empty for "." and similar paths, which mean the
/// content of a directory.
std::string top_name(const std::filesystem::path& source);

/// Throws usage if two different sources have one name at their destination, where the second one
/// would replace the first.
void require_distinct_names(std::span<const std::string> sources);

/// Opens the directory `path` below `root` without following any link. Empty, with errno set, if
/// that fails.
UniqueFd open_below(int root, std::string_view path);

/// Returns the read, write, execute and sticky bits. Drops set-user-ID and set-group-ID, because
/// the owner changes in a copy.
mode_t permission_bits(std::uint32_t mode) noexcept;

timespec as_timespec(FileTime time) noexcept;

}  // namespace fastgpu::transfer
