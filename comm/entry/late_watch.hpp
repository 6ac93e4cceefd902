// Notices from outside that a step of this rank takes long.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace fastgpu::comm {

/// Calls `late`, holding the mutex, once for each step that lasts longer than `limit`.
class LateWatch {
 public:
  /// Borrows `mutex`, which guards what `late` looks at.
  LateWatch(std::mutex& mutex, std::chrono::milliseconds limit, std::function<void()> late);

  /// A new step begins. The caller holds the mutex.
  void step_begins();

 private:
  void watch(const std::stop_token& stop);

  std::mutex& mutex_;
  std::chrono::milliseconds limit_;
  std::function<void()> late_;
  std::uint64_t step_ = 0;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::condition_variable_any step_ended_;
  std::jthread thread_;  ///< Last: it ends before the rest does.
};

}  // namespace fastgpu::comm
