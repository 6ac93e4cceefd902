#include "state/scratch.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/error.hpp"
#include "state/directory.hpp"
#include "state/private_place.hpp"

namespace fastgpu::state {
namespace {

namespace fs = std::filesystem;

/// Locks the directory. Empty if another process holds the lock or the directory was removed.
UniqueFd lock(const fs::path& directory) {
  UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return {};
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0 || status.st_nlink == 0) return {};
  return fd;
}

/// Removes the directories of dead processes, whose locks the kernel has released.
void remove_abandoned(const fs::path& parent) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored))
    if (const UniqueFd held = lock(entry.path())) fs::remove_all(entry.path(), ignored);
}

}  // namespace

ScratchDirectory::ScratchDirectory(const fs::path& state_directory) {
  require_private_place(state_directory);
  const fs::path parent = state_directory / "scratch";
  make_private_directory(parent);
  remove_abandoned(parent);
  while (!lock_) {  // Another process may have taken the new directory for an abandoned one.
    std::string pattern = (parent / "XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw system_error("making " + pattern, errno);
    path_ = pattern;
    lock_ = lock(path_);
  }
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace fastgpu::state
