// Examines the abilities and permissions of this machine.
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/numbers.hpp"
#include "base/unique_fd.hpp"
#include "process/command.hpp"
#include "provision/providers/local/durable_files.hpp"
#include "provision/providers/local/rootless/prerequisites.hpp"

namespace fastgpu::provision::local {
namespace {

std::optional<long> read_switch(const char* path) {
  const auto text = read_file(path);
  if (!text) return std::nullopt;
  return leading_number<long>(*text).value_or(0);
}

/// Runs `work` in a process of its own. Returns its result, an errno; EPERM if it was killed.
template <class Work>
int in_child(Work work) {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) ::_exit(work());
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

/// Tries namespaces. A user namespace alone may be allowed without rights in it, so these are used.
int try_namespaces() {
  return in_child([] {
    const bool made = ::unshare(CLONE_NEWUSER) == 0 && ::unshare(CLONE_NEWNS | CLONE_NEWNET) == 0;
    return made ? 0 : errno;
  });
}

/// Tries to mount /proc in namespaces. Returns 0 if these cannot be made.
int try_proc() {
  return in_child([] {
    if (::unshare(CLONE_NEWUSER) != 0 || ::unshare(CLONE_NEWNS | CLONE_NEWPID) != 0) return 0;
    return in_child([] {  // The first process of the PID namespace.
      const bool mounted =
          ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
          ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0;
      return mounted ? 0 : errno;
    });
  });
}

int try_fuse() {
  const UniqueFd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  return device ? 0 : errno;
}

}  // namespace

std::string find_system_program(const std::string& name) {
  try {
    return process::find_program(name, "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin").string();
  } catch (const Error&) {
    return {};  // The meaning of that is decided elsewhere.
  }
}

RootlessFacts look_at_machine() {
  const uid_t number = ::getuid();
  const passwd* entry = ::getpwuid(number);
  RootlessFacts facts;
  facts.user = entry == nullptr ? std::to_string(number) : entry->pw_name;
  facts.namespace_error = try_namespaces();
  facts.proc_error = try_proc();
  facts.namespaces_switch = read_switch("/proc/sys/kernel/unprivileged_userns_clone");
  facts.most_namespaces = read_switch("/proc/sys/user/max_user_namespaces");
  facts.apparmor_switch = read_switch("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
  facts.newuidmap = find_system_program("newuidmap");
  facts.newgidmap = find_system_program("newgidmap");
  facts.fuse_overlayfs = find_system_program("fuse-overlayfs");
  facts.user_ids = find_id_range(read_file("/etc/subuid").value_or(""), facts.user, number);
  facts.group_ids = find_id_range(read_file("/etc/subgid").value_or(""), facts.user, number);
  facts.fuse_error = try_fuse();
  return facts;
}

}  // namespace fastgpu::provision::local
