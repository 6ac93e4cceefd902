// A thread that does the same work again and again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace fastgpu {

/// Calls a function on a thread of its own, with a pause after each call. The destructor ends the
/// pause and waits for a call that runs.
class PeriodicThread {
 public:
  enum class First : std::uint8_t { at_once, after_pause };

  /// `work` must not throw.
  PeriodicThread(std::chrono::milliseconds pause, std::function<void()> work,
                 First first = First::after_pause);

  /// Does what the destructor does. May be repeated; not from `work`.
  void stop();

 private:
  void run(const std::stop_token& stop);

  std::chrono::milliseconds pause_;
  std::function<void()> work_;
  First first_;
  std::mutex mutex_;
  std::condition_variable_any woken_;
  std::jthread thread_;  ///< The last member: the thread uses all others.
};

}  // namespace fastgpu
