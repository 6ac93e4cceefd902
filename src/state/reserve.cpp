#include "state/reserve.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>

#include "base/chosen_place.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "state/private_place.hpp"

namespace fastgpu::state {
namespace {

constexpr std::uint64_t kMostReserve = 4ULL << 20U;
constexpr std::uint64_t kLeastReserve = 64ULL << 10U;
constexpr std::uint64_t kLeastRoom = 1ULL << 20U;

Bytes free_bytes(const struct statvfs& system) {
  return {static_cast<std::uint64_t>(system.f_bavail) * system.f_frsize};
}

}  // namespace

Bytes reserve_for(Bytes free) {
  const std::uint64_t size = std::min(free.count / 4, kMostReserve);
  return {size / kLeastReserve * kLeastReserve};
}

void reserve_room(const std::filesystem::path& log) noexcept {
  const UniqueFd file(::open(log.c_str(), O_WRONLY | O_CLOEXEC));
  struct stat status {};
  struct statvfs system {};
  if (!file || ::fstat(file.get(), &status) != 0 || ::fstatvfs(file.get(), &system) != 0) return;
  const auto size = static_cast<off_t>(reserve_for(free_bytes(system)).count);
  // posix_fallocate() is not used: on some file systems it writes to the file, which other
  // processes do, too.
  if (status.st_size < size) ::fallocate(file.get(), 0, 0, size);
}

bool can_reserve_again(const std::filesystem::path& log) noexcept {
  struct stat status {};
  struct statvfs system {};
  return ::stat(log.c_str(), &status) == 0 && ::statvfs(log.c_str(), &system) == 0 &&
         reserve_for(free_bytes(system)).count >= static_cast<std::uint64_t>(status.st_size);
}

void require_room(const std::filesystem::path& directory) {
  struct statvfs system {};
  if (::statvfs(directory.c_str(), &system) != 0)
    throw Error(unusable(state_place(directory), system_error("looking at it", errno)));
  const Bytes free = free_bytes(system);
  if (free.count >= kLeastRoom && (system.f_files == 0 || system.f_favail > 0)) return;
  throw Error(ErrorKind::capacity, "the disk of the state directory " + directory.string() +
                                       " is full (" + to_string(free) +
                                       " left): make room first; `fastgpu gc` shows what fills it");
}

}  // namespace fastgpu::state
