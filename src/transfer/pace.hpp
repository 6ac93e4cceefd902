// A limit on the speed of a copy.
#pragma once

#include <chrono>
#include <optional>

#include "base/cancel.hpp"
#include "base/units.hpp"

namespace fastgpu::transfer {

/// Holds its caller up so that on average no more than `rate` passes from the first byte on; not at
/// all without one.
class Pace {
 public:
  explicit Pace(std::optional<BitRate> rate) : rate_(rate) {}

  /// `bytes` pass now. Returns early once `cancel` is requested.
  void pass(std::size_t bytes, const Cancel& cancel);

 private:
  std::optional<BitRate> rate_;
  std::chrono::steady_clock::time_point began_{};
  std::uint64_t passed_ = 0;
};

/// How long the first `passed` bytes take at that rate.
std::chrono::nanoseconds time_for(std::uint64_t passed, BitRate rate);

}  // namespace fastgpu::transfer
