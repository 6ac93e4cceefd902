// The user's request to stop, visible to every waiting call: a flag for loops, a descriptor for
// poll().
#pragma once

#include <atomic>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu {

/// A stop request. Thread-safe; `request` is also async-signal-safe, so that a signal handler may
/// call it.
class Cancel {
 public:
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

 private:
  std::atomic<bool> requested_{false};
  UniqueFd event_;
};

}  // namespace fastgpu
