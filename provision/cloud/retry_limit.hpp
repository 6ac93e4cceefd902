// The time limit of a command for the calls of a cloud that it repeats.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/cancel.hpp"

namespace fastgpu::provision::cloud {

/// The time limit for the calls of one command, which are the calls that its stop request ends.
/// Calls that it does not end, such as the removals after a failure, are not limited. Thread-safe.
class RetryLimit {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// `stop` is the command's stop request. Borrowed.
  explicit RetryLimit(const Cancel& stop) noexcept : stop_(stop) {}

  /// Returns the time after which a failed call with that stop request is not repeated;
  /// time_point::max() without a limit.
  time_point deadline(const Cancel& cancel) const noexcept {
    return &cancel == &stop_ ? deadline_.load() : time_point::max();
  }

  /// Returns the limit of one exchange with that stop request: `usual`, or the time left if that is
  /// less. A cloud has at least ten seconds, in which it answers a launch, too.
  std::chrono::milliseconds exchange_limit(std::chrono::milliseconds usual,
                                           const Cancel& cancel) const noexcept {
    constexpr std::chrono::milliseconds kShortest{10'000};
    const time_point until = deadline(cancel);
    if (until == time_point::max()) return usual;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - time_point::clock::now());
    return std::min(usual, std::max(left, kShortest));
  }

 private:
  friend class RetryDeadline;
  const Cancel& stop_;
  std::atomic<time_point> deadline_{time_point::max()};
};

/// Sets the deadline of a RetryLimit for as long as it exists.
class RetryDeadline {
 public:
  RetryDeadline(RetryLimit& limit, RetryLimit::time_point deadline) noexcept
      : limit_(limit), before_(limit.deadline_.exchange(deadline)) {}
  ~RetryDeadline() { limit_.deadline_.store(before_); }
  RetryDeadline(const RetryDeadline&) = delete;
  RetryDeadline& operator=(const RetryDeadline&) = delete;

 private:
  RetryLimit& limit_;
  RetryLimit::time_point before_;
};

}  // namespace fastgpu::provision::cloud
