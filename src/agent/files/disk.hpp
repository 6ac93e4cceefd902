// File access for the agent: whole, small, private files.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/protocol/files.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::agent {

/// Returns the error of a system call on `path`. For a full disk it names this node: "no space left
/// on demo-0: /root/.fastgpu/jobs/train-1/rank".
Error disk_error(std::string_view doing, const std::filesystem::path& path, int error_number);

/// Returns true if the file system of `directory` has no room for another small file, or our quota
/// there is used up.
bool is_full(const std::filesystem::path& directory);

/// Returns `path` if it is absolute, else the path in $HOME, as transfer::below_home() does. Throws
/// local if HOME is not set.
std::filesystem::path below_home(const std::filesystem::path& path);

/// Returns the content of the file; absent if it does not exist. Throws local if it is larger than
/// `limit` bytes.
std::optional<std::string> read_file(const std::filesystem::path& path,
                                     std::size_t limit = 16 << 20);

/// Writes a file so that readers see either the old or the new content, and never a part of it,
/// even if this process is killed.
void write_atomically(const std::filesystem::path& path, std::string_view content,
                      unsigned mode = 0600);

/// The maximum size of small files that arrive together.
inline constexpr std::size_t kMostFileBytes = 64 << 20;

/// Writes the files below a private directory, which it creates.
void write_files(const std::filesystem::path& directory, const std::vector<SmallFile>& files);

/// Opens a file for appending. Creates it with mode 0600 if it does not exist.
UniqueFd open_for_append(const std::filesystem::path& path);

/// Returns true if a file with this owner may be ours: the owner is this user, root, or user 65534,
/// which a file server may substitute for root.
bool may_be_ours(uid_t owner) noexcept;

/// Creates the directory and its parents with mode 0700. Throws denied if it exists and belongs to
/// another user.
void make_private_directory(const std::filesystem::path& path);

/// Reads `fd` to its end. Throws usage for more than `limit` bytes.
std::string read_all(int fd, std::size_t limit);

/// Writes all of `text`, also to a slow descriptor. Throws local.
void write_all(int fd, std::string_view text);

/// Sets the modification time to now. Creates the file if it is missing.
void touch(const std::filesystem::path& path);

/// Takes an exclusive lock, which the kernel releases when this process ends. Absent if another
/// process has the lock.
std::optional<UniqueFd> try_lock(const std::filesystem::path& path);

std::string host_name();

/// Returns nanoseconds since 1970.
std::int64_t now_ns();

/// Returns when a file was written last, in nanoseconds since 1970; absent if it is not there.
std::optional<std::int64_t> time_of_file(const std::filesystem::path& path);

}  // namespace fastgpu::agent
