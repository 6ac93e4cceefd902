// Notices from outside that a step of this rank takes long.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace fastgpu::comm {

/// A watchdog that calls `on_stall`, holding the mutex, once a step has lasted for `limit`, and
/// again each time it has lasted twice as long.
class StallWatchdog {
 public:
  using OnStall = std::function<void(std::chrono::milliseconds lasted)>;

  /// Borrows `mutex`, which guards the data that `on_stall` reads.
  StallWatchdog(std::mutex& mutex, std::chrono::milliseconds limit, OnStall on_stall);

  /// Notes that a new step begins. The caller holds the mutex.
  void step_begins();

 private:
  void watch(const std::stop_token& stop);

  std::mutex& mutex_;
  std::chrono::milliseconds limit_;
  OnStall on_stall_;
  std::uint64_t step_ = 0;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::condition_variable_any step_ended_;
  std::jthread thread_;  ///< Declared last, to end before the rest does.
};

}  // namespace fastgpu::comm
