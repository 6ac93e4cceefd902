// A cancel of our own that the user's cancel triggers too.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "base/cancel.hpp"

namespace fastgpu::launcher {

/// A cancel for calls that take one and must end for either reason. `outer` must live longer.
class LinkedCancel {
 public:
  /// Requests a cancel by itself after `limit`; never with a negative one.
  explicit LinkedCancel(const Cancel& outer,
                        std::chrono::milliseconds limit = std::chrono::milliseconds(-1));
  ~LinkedCancel();
  LinkedCancel(const LinkedCancel&) = delete;
  LinkedCancel& operator=(const LinkedCancel&) = delete;

  const Cancel& both() const noexcept { return inner_; }
  void request() noexcept { inner_.request(); }
  bool timed_out() const noexcept { return timed_out_; }

 private:
  Cancel inner_;
  Cancel done_;
  std::atomic<bool> timed_out_ = false;
  std::jthread watcher_;
};

}  // namespace fastgpu::launcher
