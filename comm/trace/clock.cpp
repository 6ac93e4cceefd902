#include "comm/trace/clock.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <vector>

namespace fastgpu::comm {
namespace {

constexpr int kRoundTrips = 8;

std::chrono::nanoseconds now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

}  // namespace

ClockOffset clock_offset(std::span<const RoundTrip> trips) {
  assert(!trips.empty());
  const RoundTrip& best = *std::ranges::min_element(
      trips, {}, [](const RoundTrip& trip) { return trip.received - trip.sent; });
  const auto half = (best.received - best.sent) / 2;
  return {best.sent + half - best.remote, half};
}

std::chrono::nanoseconds ahead_of_rank_0(Communicator& control) {
  std::int64_t remote = 0;
  const auto bytes = std::as_writable_bytes(std::span(&remote, 1));
  if (control.rank() == Rank{0}) {
    for (int rank = 1; rank < control.size(); ++rank)
      for (int trip = 0; trip < kRoundTrips; ++trip) {
        control.receive(bytes, {rank});
        remote = now().count();
        control.send(bytes, {rank});
      }
    return {};
  }
  std::vector<RoundTrip> trips;
  for (int trip = 0; trip < kRoundTrips; ++trip) {
    const std::chrono::nanoseconds sent = now();
    control.send(bytes, {0});
    control.receive(bytes, {0});
    trips.push_back({sent, std::chrono::nanoseconds(remote), now()});
  }
  return clock_offset(trips).ahead;
}

}  // namespace fastgpu::comm
