// Signals as events of a poll loop, and children that are reaped once.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <initializer_list>
#include <map>
#include <optional>

#include "base/unique_fd.hpp"
#include "process/exit_status.hpp"

namespace fastgpu::agent {

/// From construction on the signals are blocked and queue up here. One per process.
class SignalQueue {
 public:
  explicit SignalQueue(std::initializer_list<int> signals);

  int fd() const noexcept { return fd_.get(); }
  std::optional<int> next();  ///< Does not wait.

 private:
  UniqueFd fd_;
};

/// Reaps whatever ends, orphans that came to us included, and remembers one of them.
class Reaper {
 public:
  explicit Reaper(pid_t child) : child_(child) {}

  void reap();
  const std::optional<process::ExitStatus>& ended() const noexcept { return ended_; }

 private:
  pid_t child_;
  std::optional<process::ExitStatus> ended_;
};

/// Orphaned descendants become our children instead of init's.
void become_subreaper();

/// Ends this process as the other one ended: by the same signal, without a core dump of ours.
/// Returns the exit code where it did not end by a signal.
int end_like(const process::ExitStatus& how);

}  // namespace fastgpu::agent
