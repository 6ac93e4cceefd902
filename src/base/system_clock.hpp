// The real clock, whose sleep ends early when the user asks to stop.
#pragma once

#include <poll.h>

#include <algorithm>

#include "base/cancel.hpp"
#include "base/clock.hpp"

namespace fastgpu {

class SystemClock final : public Clock {
 public:
  /// Borrows `cancel`, which must outlive the clock.
  explicit SystemClock(const Cancel& cancel) : cancel_(cancel) {}

  time_point now() const noexcept override { return std::chrono::steady_clock::now(); }

  void sleep(std::chrono::milliseconds duration) override {
    constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24);
    pollfd entry{.fd = cancel_.fd(), .events = POLLIN, .revents = 0};
    ::poll(&entry, 1, static_cast<int>(std::clamp(duration, {}, kLongest).count()));
  }

 private:
  const Cancel& cancel_;
};

}  // namespace fastgpu
