#include "comm/trace/clock.hpp"

#include <algorithm>
#include <cassert>

namespace fastgpu::comm {

ClockOffset clock_offset(std::span<const RoundTrip> trips) {
  assert(!trips.empty());
  const RoundTrip& best = *std::ranges::min_element(
      trips, {}, [](const RoundTrip& trip) { return trip.received - trip.sent; });
  const auto half = (best.received - best.sent) / 2;
  return {best.sent + half - best.remote, half};
}

}  // namespace fastgpu::comm
