// The pauses between polls.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "base/cancel.hpp"

namespace fastgpu::provision {

/// A function that waits for a time or a cancel.
using Wait = std::function<void(std::chrono::milliseconds, const Cancel&)>;

/// Returns the pause before the next poll, after `waited` so far: a tenth of that time, at least
/// `shortest` and at most 5 s. By default a place is polled at most twice a second.
constexpr std::chrono::milliseconds poll_interval(
    std::chrono::milliseconds waited,
    std::chrono::milliseconds shortest = std::chrono::milliseconds(500)) {
  return std::clamp<std::chrono::milliseconds>(waited / 10, shortest, std::chrono::seconds(5));
}

/// The pauses of one wait.
class Polling {
 public:
  explicit Polling(Wait wait) : wait_(std::move(wait)) {}

  /// Returns the time of the pauses alone, so that a slow answer costs no poll.
  std::chrono::milliseconds waited() const noexcept { return waited_; }

  /// Returns the time since the wait began, with the time that answers took.
  std::chrono::milliseconds elapsed() const noexcept {
    const auto passed = std::chrono::steady_clock::now() - began_;
    return std::max(waited_, std::chrono::floor<std::chrono::milliseconds>(passed));
  }

  /// Waits until the next poll. Throws interrupted after a cancel.
  void pause(const Cancel& cancel) {
    const std::chrono::milliseconds pause = poll_interval(waited_);
    wait_(pause, cancel);
    cancel.check();
    waited_ += pause;
  }

 private:
  Wait wait_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::chrono::milliseconds waited_{0};
};

}  // namespace fastgpu::provision
