// A stop of our own that the user's stop sets off too.
#pragma once

#include <thread>

#include "base/cancel.hpp"

namespace fastgpu::launcher {

/// For calls that take one Cancel and must end for either reason. `outer` must live longer.
class LinkedCancel {
 public:
  explicit LinkedCancel(const Cancel& outer);
  ~LinkedCancel();
  LinkedCancel(const LinkedCancel&) = delete;
  LinkedCancel& operator=(const LinkedCancel&) = delete;

  const Cancel& both() const noexcept { return inner_; }
  void request() noexcept { inner_.request(); }

 private:
  Cancel inner_;
  Cancel done_;
  std::jthread watcher_;
};

}  // namespace fastgpu::launcher
