#include "agent/jobs/rank_front.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <system_error>

#include "agent/files/disk.hpp"
#include "agent/jobs/processes.hpp"
#include "process/child.hpp"

namespace fastgpu::agent {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr int kLookEvery = 100;  ///< Milliseconds between two checks for the end of the job.

/// The time that a blamed rank has to end by itself before the launcher learns that this rank has
/// ended, and ends all others: the exit code and the last lines of the blamed one are those that
/// matter. Programs with large libraries take seconds for their end.
constexpr milliseconds kTimeForBlamed{5'000};

void reap_orphans() {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

bool has_children() {
  siginfo_t ignored{};
  return ::waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/// Lets the launcher see the end of the rank while this process goes on.
void release_front(Front& front, int code) {
  ::prctl(PR_SET_PDEATHSIG, 0);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd = 0; null && fd < 3; ++fd)
    ::dup2(null.get(), fd);  // The launcher waits until its pipes are closed.
  const auto byte = static_cast<char>(code);
  write_all(front.early_code.get(), {&byte, 1});
  front.early_code = UniqueFd();
}

/// Waits for the end of the job on this node, which is the end of its launcher, or an order to end.
void wait_for_job(const Front& front, SignalQueue& signals) {
  // Readable once the launcher has ended. Empty on kernels before 5.3, where it is looked for.
  const UniqueFd launcher(static_cast<int>(::syscall(SYS_pidfd_open, front.launcher, 0)));
  while (has_children() && ::kill(front.launcher, 0) == 0) {
    pollfd fds[] = {{signals.fd(), POLLIN, 0}, {launcher.get(), POLLIN, 0}};
    ::poll(fds, 2, kLookEvery);
    if (fds[1].revents != 0) return;
    while (const auto number = signals.next())
      if (*number != SIGCHLD && *number != kLauncherGone) return;
    reap_orphans();
  }
}

/// Returns the exit code that the second process reports before its own end, or -1.
int early_code(UniqueFd& from) {
  unsigned char code = 0;
  const ssize_t got = ::read(from.get(), &code, 1);
  if (got == 1) return code;
  if (got == 0) from = UniqueFd();
  return -1;
}

}  // namespace

int stand_for(pid_t other, pid_t launcher, UniqueFd from, SignalQueue& signals) {
  for (;;) {
    int status = 0;
    if (::waitpid(other, &status, WNOHANG) == other)
      return process::exit_status_of(status).shell_code();
    pollfd fds[] = {{signals.fd(), POLLIN, 0}, {from.get(), POLLIN, 0}};
    ::poll(fds, 2, -1);
    if (fds[1].revents != 0)
      if (const int code = early_code(from); code >= 0) return code;
    while (const auto number = signals.next()) {
      if (*number == kLauncherGone && ::getppid() != launcher) ::kill(other, SIGTERM);
      if (*number != SIGCHLD && *number != kLauncherGone) ::kill(other, *number);
    }
  }
}

void outlive(pid_t parent) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::kill(::getpid(), SIGTERM);  // The parent has ended already.
}

void wait_for_blamed(const std::filesystem::path& ranks, const RankEnd& end, SignalQueue& signals) {
  if (!end.blames) return;
  const auto status = ranks / (std::to_string(*end.blames) + ".status");
  const auto until = SteadyClock::now() + kTimeForBlamed;
  std::error_code none;
  while (SteadyClock::now() < until && !std::filesystem::exists(status, none)) {
    pollfd fd{signals.fd(), POLLIN, 0};
    ::poll(&fd, 1, kLookEvery);
    while (const auto number = signals.next()) {
      const bool ends = *number != SIGCHLD && *number != kLauncherGone && *number != SIGUSR1 &&
                        *number != SIGUSR2;
      if (ends) return;
    }
  }
}

void end_the_rest(bool is_stopped, int code, Front& front, SignalQueue& signals) {
  reap_orphans();
  if (!has_children()) return;
  if (!is_stopped) {
    release_front(front, code);
    wait_for_job(front, signals);
  }
  end_processes({.descendants = Descendants::included}, milliseconds(0), reap_orphans);
}

}  // namespace fastgpu::agent
