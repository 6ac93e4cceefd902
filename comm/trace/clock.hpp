// The distance between two clocks, from a few messages there and back.
#pragma once

#include <chrono>
#include <span>

#include "comm/communicator/communicator.hpp"

namespace fastgpu::comm {

/// One message there and back. `sent` and `received` are of our clock, `remote` of the other.
struct RoundTrip {
  std::chrono::nanoseconds sent{};
  std::chrono::nanoseconds remote{};
  std::chrono::nanoseconds received{};
};

struct ClockOffset {
  /// The lead of our clock over the other; the best guess.
  std::chrono::nanoseconds ahead{};
  std::chrono::nanoseconds uncertainty{};  ///< The largest distance of the truth from the guess.
};

/// Estimates from the quickest of them, because the delay of the others reveals nothing about
/// clocks. At least one.
ClockOffset clock_offset(std::span<const RoundTrip> trips);

/// Returns the lead of this rank's clock over that of rank 0, which answers the other ranks in
/// turn. A collective.
std::chrono::nanoseconds ahead_of_rank_0(Communicator& control);

}  // namespace fastgpu::comm
