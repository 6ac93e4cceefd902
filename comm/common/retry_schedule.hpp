// The times at which a network that has failed is tried again. Pure.
#pragma once

#include <algorithm>
#include <chrono>

namespace fastgpu::comm {

struct RetryTimes {
  std::chrono::milliseconds first{500};
  std::chrono::milliseconds longest{30'000};
  /// A network that has worked for this long is tried again after the first pause.
  std::chrono::milliseconds stable{10'000};
};

/// Pauses that double with each attempt that fails, and with each success that does not last.
class RetrySchedule {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit RetrySchedule(RetryTimes times) : times_(times), pause_(times.first) {}

  Time due() const noexcept { return due_; }

  /// Notes that a connection has failed, or an attempt to replace one.
  void failed(Time now) noexcept {
    if (has_worked_ && now - worked_ >= times_.stable) pause_ = times_.first;
    has_worked_ = false;
    due_ = now + pause_;
    pause_ = std::min(2 * pause_, times_.longest);
  }

  /// Notes that an attempt has succeeded: others of the network follow at once.
  void succeeded(Time now) noexcept {
    has_worked_ = true;
    worked_ = now;
    due_ = now;
  }

 private:
  RetryTimes times_;
  std::chrono::milliseconds pause_;
  Time due_{};
  Time worked_{};
  bool has_worked_ = false;
};

}  // namespace fastgpu::comm
