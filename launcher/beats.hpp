// The signs of life that this machine sends to a node on which a job's lease is renewed.
#pragma once

#include <atomic>
#include <string>

#include "base/periodic_thread.hpp"
#include "base/unique_fd.hpp"
#include "ssh/host.hpp"

namespace fastgpu::launcher {

/// Returns true if another machine passes our bytes on to the host: its kernel confirms them for a
/// while also after this machine has vanished. Pure.
bool is_behind_another(const ssh::Host& host);

/// A byte every agent::kBetweenClientBeats, for the standard input of a command.
class Beats {
 public:
  /// `wake` is the eventfd that is signalled with each beat, borrowed; -1 for one of its own.
  explicit Beats(int wake);

  /// Returns the descriptor for ssh::RunOptions::wake.
  int wake() const noexcept { return wake_; }
  /// Returns the beats since the last call; empty without any.
  std::string take();

 private:
  UniqueFd own_;
  int wake_;
  std::atomic<bool> is_due_{false};
  PeriodicThread thread_;  ///< The last member: the thread uses all others.
};

}  // namespace fastgpu::launcher
