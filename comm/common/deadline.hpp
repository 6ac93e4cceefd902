// A point in time by which something must have happened.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <limits>

namespace fastgpu::comm {

class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds from_now)
      : at_(std::chrono::steady_clock::now() + from_now) {}

  bool passed() const { return std::chrono::steady_clock::now() >= at_; }

  /// Returns the rest, never negative and rounded up, so that waiting for it does not end too
  /// early.
  std::chrono::milliseconds left() const {
    const auto rest = at_ - std::chrono::steady_clock::now();
    return std::max(std::chrono::ceil<std::chrono::milliseconds>(rest),
                    std::chrono::milliseconds(0));
  }

  /// Returns the rest for poll().
  int left_for_poll() const {
    constexpr std::chrono::milliseconds::rep kMost = std::numeric_limits<int>::max();
    return static_cast<int>(std::min(left().count(), kMost));
  }

  friend bool operator<(const Deadline& a, const Deadline& b) { return a.at_ < b.at_; }

 private:
  std::chrono::steady_clock::time_point at_;
};

/// Returns the time of some milliseconds ago at most, in a fifth of the time that the exact one
/// takes.
inline std::chrono::steady_clock::time_point roughly_now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::chrono::steady_clock::time_point(std::chrono::seconds(now.tv_sec) +
                                               std::chrono::nanoseconds(now.tv_nsec));
}

/// Returns the sooner of `deadline` and `limit` from now.
inline Deadline within(Deadline deadline, std::chrono::milliseconds limit) {
  return std::min(deadline, Deadline(limit));
}

}  // namespace fastgpu::comm
