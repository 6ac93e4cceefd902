// A limit on the speed of a copy.
#pragma once

#include <chrono>
#include <optional>

#include "base/cancel.hpp"
#include "base/units.hpp"

namespace fastgpu::transfer {

/// Delays its caller so that on average at most `rate` passes from the first byte on. Without a
/// rate it never delays.
class Pace {
 public:
  explicit Pace(std::optional<BitRate> rate) : rate_(rate) {}

  /// Waits until `bytes` may pass. Returns early once `cancel` is requested.
  void pass(std::size_t bytes, const Cancel& cancel);

 private:
  std::optional<BitRate> rate_;
  std::chrono::steady_clock::time_point began_{};
  std::uint64_t passed_ = 0;
};

/// Returns the time that the first `passed` bytes take at that rate.
std::chrono::nanoseconds time_for(std::uint64_t passed, BitRate rate);

}  // namespace fastgpu::transfer
