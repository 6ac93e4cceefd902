// The sleep of threads until something comes. One of them sleeps for all that wait: two would take
// each other's wake-ups.
#pragma once

#include <poll.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/common/biased_mutex.hpp"

namespace fastgpu::comm {

/// The descriptors that wake a sleeper, and the number of sleepers. All functions but `kick` are
/// called with the lock of the engine.
class SleepWatch {
 public:
  using Lock = std::unique_lock<BiasedMutex>;
  enum class Sleeper : bool { waiter, driver };

  /// Throws the failure of the system to make a descriptor.
  SleepWatch();

  /// Adds descriptors that become readable when something comes.
  void add(const std::vector<int>& descriptors);
  /// Returns the descriptor by which `kick` wakes the sleeper.
  int descriptor() const noexcept { return kick_.get(); }

  /// Returns whether a thread sleeps until something comes.
  bool is_kept() const noexcept { return is_kept_; }

  /// Sleeps until that thread wakes, but no longer than `longest`.
  void wait_for_end(Lock& lock, std::chrono::milliseconds longest);

  /// Sleeps, without the lock, until something comes, but no longer than `longest`. With 0 it looks
  /// and yields the core.
  void keep(Lock& lock, Sleeper sleeper, std::chrono::milliseconds longest);

  /// Wakes the thread that sleeps. From any thread.
  void kick() const noexcept;
  /// Wakes it if a thread that waits for an operation sleeps.
  void wake_waiters() const noexcept;

 private:
  UniqueFd kick_;
  std::vector<pollfd> wake_ends_;  ///< `kick_`, and what was added.
  bool is_kept_ = false;
  int sleepers_ = 0;  ///< Waiters that sleep.
  std::condition_variable_any ended_;
};

}  // namespace fastgpu::comm
