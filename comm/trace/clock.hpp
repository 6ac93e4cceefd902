// How far two clocks are apart, from a few messages there and back.
#pragma once

#include <chrono>
#include <span>

namespace fastgpu::comm {

/// One message there and back. `sent` and `received` are of our clock, `remote` of the other.
struct RoundTrip {
  std::chrono::nanoseconds sent{};
  std::chrono::nanoseconds remote{};
  std::chrono::nanoseconds received{};
};

struct ClockOffset {
  std::chrono::nanoseconds ahead{};        ///< Of our clock before the other; the best guess.
  std::chrono::nanoseconds uncertainty{};  ///< The truth is not further from the guess than this.
};

/// From the quickest of them, for what delayed the others says nothing of clocks. At least one.
ClockOffset clock_offset(std::span<const RoundTrip> trips);

}  // namespace fastgpu::comm
