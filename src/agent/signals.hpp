// Signals as events for a poll loop, and the reaping of children.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <initializer_list>
#include <map>
#include <optional>

#include "base/unique_fd.hpp"
#include "process/exit_status.hpp"

namespace fastgpu::agent {

/// A queue of the given signals, which stay blocked. One object per process.
class SignalQueue {
 public:
  explicit SignalQueue(std::initializer_list<int> signals);

  int fd() const noexcept { return fd_.get(); }
  std::optional<int> next();  ///< Returns the next signal without waiting.

 private:
  UniqueFd fd_;
};

/// Reaps all children that have ended, including adopted orphans, and remembers the status of one
/// child.
class Reaper {
 public:
  explicit Reaper(pid_t child) : child_(child) {}

  void reap();
  const std::optional<process::ExitStatus>& ended() const noexcept { return ended_; }

 private:
  pid_t child_;
  std::optional<process::ExitStatus> ended_;
};

/// Makes on_parent_death descendants our children, and not init's.
void become_subreaper();

/// Ends this process in the same way as another one: by the same signal, but without a core dump.
/// Returns the exit code if the other process did not end by a signal.
int end_like(const process::ExitStatus& how);

}  // namespace fastgpu::agent
