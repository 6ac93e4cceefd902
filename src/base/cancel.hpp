// The user's request to stop, visible to every waiting call: a flag for loops, a descriptor for
// poll(). The time limit of the command's retries comes with it.
#pragma once

#include <atomic>
#include <chrono>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu {

/// A stop request. Thread-safe; `request` is also async-signal-safe, so that a signal handler may
/// call it.
class Cancel {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  Cancel();  ///< Throws ErrorKind::local if no event descriptor can be created.

  void request() noexcept;
  bool requested() const noexcept { return requested_.load(std::memory_order_relaxed); }

  /// Returns a descriptor that becomes readable with the first request and stays so. Never read
  /// from it.
  int fd() const noexcept { return event_.get(); }

  /// Throws ErrorKind::interrupted once a stop has been requested.
  void check() const {
    if (requested()) throw Error(ErrorKind::interrupted, "interrupted");
  }

  /// Returns the time after which a failed call is not repeated; time_point::max() without a limit.
  time_point retry_deadline() const noexcept { return retry_deadline_.load(); }

 private:
  friend class RetryDeadline;
  std::atomic<bool> requested_{false};
  UniqueFd event_;
  std::atomic<time_point> retry_deadline_{time_point::max()};
};

/// Limits, as long as it exists, the retries of all calls that wait for this stop request. Calls
/// with another one, such as the removals after a failure, are not limited.
class RetryDeadline {
 public:
  RetryDeadline(Cancel& cancel, Cancel::time_point deadline) noexcept
      : cancel_(cancel), before_(cancel.retry_deadline_.exchange(deadline)) {}
  ~RetryDeadline() { cancel_.retry_deadline_.store(before_); }
  RetryDeadline(const RetryDeadline&) = delete;
  RetryDeadline& operator=(const RetryDeadline&) = delete;

 private:
  Cancel& cancel_;
  Cancel::time_point before_;
};

}  // namespace fastgpu
