#include "cli/workflows/job_owner.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <utility>

#include "base/error.hpp"
#include "launcher/array.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

std::string name_of_owner(const std::string& job_id) {
  const std::string array = launcher::array_of(job_id);
  return array.empty() ? job_id : array;
}

/// Opens or makes the file of a lock. Returns none in a read-only directory.
UniqueFd open_lock(const std::filesystem::path& path) {
  state::make_private_directory(path.parent_path());
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file && errno != EROFS) throw state::state_file_error("opening the lock", path, errno);
  return file;
}

}  // namespace

JobOwner::JobOwner(const std::filesystem::path& state_directory, const std::string& id)
    : path_(state_directory / "locks" / ("job." + name_of_owner(id) + ".lock")) {
  UniqueFd file = open_lock(path_);
  if (!file) return;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0)
    file_ = std::move(file);
  else if (errno != EWOULDBLOCK)
    throw system_error("locking " + path_.string(), errno);
}

JobOwner::~JobOwner() {
  // Names of jobs are not used again: no other process can be waiting for this file.
  if (held()) ::unlink(path_.c_str());
}

JobAsker::JobAsker(const std::filesystem::path& state_directory, const std::string& id) {
  const auto path = state_directory / "locks" / "askers.lock";
  UniqueFd file = open_lock(path);
  if (!file) return;
  struct flock byte {};
  byte.l_type = F_WRLCK;
  byte.l_whence = SEEK_SET;
  byte.l_start = static_cast<off_t>(std::hash<std::string>{}(id) >> 2U);
  byte.l_len = 1;
  if (::fcntl(file.get(), F_OFD_SETLK, &byte) == 0)
    file_ = std::move(file);
  else if (errno != EAGAIN && errno != EACCES)
    throw system_error("locking " + path.string(), errno);
}

}  // namespace fastgpu::cli
