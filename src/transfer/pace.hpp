// Limits the speed of a copy.
#pragma once

#include <chrono>
#include <optional>

#include "base/cancel.hpp"
#include "base/units.hpp"

namespace fastgpu::transfer {

/// Delays its caller so that on average at most `rate` passes since the first byte. Without a rate
/// it never delays.
class Pace {
 public:
  explicit Pace(std::optional<BitRate> rate) : rate_(rate) {}

  /// Waits until `bytes` more bytes may pass. Returns early once `cancel` is requested.
  void pass(std::size_t bytes, const Cancel& cancel);

 private:
  std::optional<BitRate> rate_;
  std::chrono::steady_clock::time_point began_{};
  std::uint64_t passed_ = 0;
};

/// Returns how long the first `passed` bytes take at this rate.
std::chrono::nanoseconds time_for(std::uint64_t passed, BitRate rate);

}  // namespace fastgpu::transfer
