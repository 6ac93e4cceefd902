#include "provision/providers/local/running_hosts.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/unique_fd.hpp"
#include "provision/providers/local/durable_files.hpp"
#include "provision/providers/local/node_files.hpp"

namespace fastgpu::provision::local {
namespace {

UniqueFd open_in(int root, const char* path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, root, path, &how, sizeof how)));
}

bool is_our_own(const UniqueFd& root) {
  struct stat its {};
  struct stat ours {};
  return ::fstat(root.get(), &its) != 0 || ::stat("/", &ours) != 0 ||
         (its.st_dev == ours.st_dev && its.st_ino == ours.st_ino);
}

/// Returns the text of a plain file; "" for devices and pipes, which could block for ever.
std::string text_of(const UniqueFd& file) {
  struct stat found {};
  if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  return read_file("/proc/self/fd/" + std::to_string(file.get())).value_or("");
}

}  // namespace

void update_hosts_of(pid_t pid, const std::string& block) {
  const std::string path = "/proc/" + std::to_string(pid) + "/root";
  const UniqueFd root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root || is_our_own(root)) return;  // The node has just ended, or not entered its tree yet.
  const UniqueFd etc = open_in(root.get(), "etc", O_PATH | O_DIRECTORY);
  if (!etc) return;
  const std::string old = text_of(open_in(root.get(), "etc/hosts", O_RDONLY | O_NONBLOCK));
  const std::string text = merge_hosts(old, block);
  if (text == old) return;
  constexpr const char* kDraft = ".hosts.fastgpu";
  ::unlinkat(etc.get(), kDraft, 0);
  const UniqueFd draft(
      ::openat(etc.get(), kDraft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  constexpr const char* kDoing = "writing /etc/hosts of a node";
  if (!draft || ::fchmod(draft.get(), 0644) != 0) throw system_error(kDoing, errno);
  write_all(draft.get(), text, kDoing);
  if (::renameat(etc.get(), kDraft, etc.get(), "hosts") != 0) throw system_error(kDoing, errno);
}

}  // namespace fastgpu::provision::local
