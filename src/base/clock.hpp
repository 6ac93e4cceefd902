// Time as a parameter, so that a test does not wait.
#pragma once

#include <chrono>

namespace fastgpu {

/// A source of time. Throws nothing. sleep() may return early if the process is asked to stop.
class Clock {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  virtual ~Clock() = default;
  virtual time_point now() const noexcept = 0;
  virtual void sleep(std::chrono::milliseconds duration) = 0;
};

}  // namespace fastgpu
