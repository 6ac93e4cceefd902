#include "cli/workflows/job_owner.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
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

}  // namespace

JobOwner::JobOwner(const std::filesystem::path& state_directory, const std::string& id)
    : path_(state_directory / "locks" / ("job." + name_of_owner(id) + ".lock")) {
  state::make_private_directory(path_.parent_path());
  UniqueFd file(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file && errno == EROFS) return;
  if (!file) throw system_error("opening the lock " + path_.string(), errno);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0)
    file_ = std::move(file);
  else if (errno != EWOULDBLOCK)
    throw system_error("locking " + path_.string(), errno);
}

JobOwner::~JobOwner() {
  // Names of jobs are not used again: no other process can be waiting for this file.
  if (held()) ::unlink(path_.c_str());
}

}  // namespace fastgpu::cli
