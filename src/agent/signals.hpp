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

/// A queue of the given signals, which are blocked from construction on. One per process.
class SignalQueue {
 public:
  explicit SignalQueue(std::initializer_list<int> signals);

  int fd() const noexcept { return fd_.get(); }
  std::optional<int> next();  ///< Does not wait.

 private:
  UniqueFd fd_;
};

/// Reaps all ended children, adopted orphans included, and remembers one of them.
class Reaper {
 public:
  explicit Reaper(pid_t child) : child_(child) {}

  void reap();
  const std::optional<process::ExitStatus>& ended() const noexcept { return ended_; }

 private:
  pid_t child_;
  std::optional<process::ExitStatus> ended_;
};

/// Makes orphaned descendants our children instead of init's.
void become_subreaper();

/// Ends this process like the other one: by the same signal, without a core dump of ours. Returns
/// the exit code if it did not end by a signal.
int end_like(const process::ExitStatus& how);

}  // namespace fastgpu::agent
