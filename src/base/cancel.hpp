// The user's wish to stop, seen by whoever waits: a flag for loops, a descriptor for poll().
#pragma once

#include <atomic>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu {

/// Thread-safe; `request` is also async-signal-safe, so that a signal handler may call it.
class Cancel {
 public:
  Cancel();  ///< Throws ErrorKind::local where the kernel gives no event descriptor.

  void request() noexcept;
  bool requested() const noexcept { return requested_.load(std::memory_order_relaxed); }

  /// Readable from the first request on, for ever; never read from it.
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
