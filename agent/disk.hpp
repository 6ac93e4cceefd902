// Files as the agent uses them: whole, small, private.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {

/// Returns the failure of a system call on `path`. A full disk is told as such, with this node's
/// name: "no space left on demo-0: /root/.fastgpu/jobs/train-1/rank".
Error disk_error(std::string_view doing, const std::filesystem::path& path, int error_number);

/// Whether the file system of `directory` has no room for another small file, or our quota there is
/// used up.
bool is_full(const std::filesystem::path& directory);

/// `path` itself where it is absolute, else below $HOME.
std::filesystem::path below_home(const std::filesystem::path& path);

/// The whole file, absent where it does not exist. Throws local for one over `limit` bytes.
std::optional<std::string> read_file(const std::filesystem::path& path,
                                     std::size_t limit = 16 << 20);

/// A reader sees the old content or the new one, never a part, also after a crash of this process.
void write_atomically(const std::filesystem::path& path, std::string_view content,
                      unsigned mode = 0600);

/// For writing at the end, made with mode 0600 where it does not exist.
UniqueFd open_for_append(const std::filesystem::path& path);

/// Whether a file with this owner can be taken for one of ours: of this user, of root, or of
/// nobody, as whom a file server may write what root writes.
bool may_be_ours(uid_t owner) noexcept;

/// Makes the directory and its parents, 0700. Throws denied where it is there and another user's.
void make_private_directory(const std::filesystem::path& path);

/// What comes from `fd` until its end. Throws usage for more than `limit` bytes.
std::string read_all(int fd, std::size_t limit);

/// Writes all of it, waiting where the descriptor is slow. Throws local.
void write_all(int fd, std::string_view text);

/// Sets the modification time to now; makes the file where there is none.
void touch(const std::filesystem::path& path);

/// An exclusive lock that the kernel releases when this process ends; absent where another holds
/// it.
std::optional<UniqueFd> try_lock(const std::filesystem::path& path);

std::string host_name();

/// Nanoseconds since 1970.
std::int64_t now_ns();

}  // namespace fastgpu::agent
