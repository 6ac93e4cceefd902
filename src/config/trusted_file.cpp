#include "config/trusted_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "config/document.hpp"

namespace fastgpu::config {
namespace {

bool is_ours_or_roots(const struct stat& status) {
  return status.st_uid == ::geteuid() || status.st_uid == 0;
}

/// Returns true if other users may write the file. A group with the same number as its user is
/// taken for that user's own group.
bool others_may_write(const struct stat& status) {
  const bool is_private_group = status.st_gid == status.st_uid;
  return (status.st_mode & S_IWOTH) != 0 || ((status.st_mode & S_IWGRP) != 0 && !is_private_group);
}

std::string fault_of(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return "it is not a regular file";
  if (!is_ours_or_roots(status))
    return "it belongs to another user (uid " + std::to_string(status.st_uid) + ")";
  if (others_may_write(status)) return "other users may write it (chmod go-w makes it usable)";
  return "";
}

}  // namespace

TrustedFile read_trusted(const std::filesystem::path& path) {
  struct stat link {};
  if (::lstat(path.c_str(), &link) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    return {.reason = system_error("looking at it", errno).what()};
  }
  if (S_ISLNK(link.st_mode) && !is_ours_or_roots(link))
    return {.reason = "it is a link that belongs to another user (uid " +
                      std::to_string(link.st_uid) + ")"};
  // Without O_NONBLOCK, opening a FIFO or a device could block.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0)
    return {.reason = system_error("opening it", errno).what()};
  if (const std::string fault = fault_of(status); !fault.empty()) return {.reason = fault};
  return {.text = read_all(fd.get(), path.string())};
}

}  // namespace fastgpu::config
