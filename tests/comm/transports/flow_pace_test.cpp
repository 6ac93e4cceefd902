// The paces of flows, and which of them takes the next chunk.
#include "comm/transports/flow_pace.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <vector>

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using PaceClock = FlowPace::Clock;

constexpr std::size_t kChunk = 128 << 10;

/// Lets a flow carry chunks, two at a time, `each` of which is confirmed after this time.
void carry(FlowPace& pace, PaceClock::time_point& now, std::chrono::microseconds each, int chunks) {
  pace.sent(kChunk, now);
  for (int i = 1; i < chunks; ++i) {
    pace.sent(kChunk, now);
    now += each;
    pace.confirmed(kChunk, now);
  }
  now += each;
  pace.confirmed(kChunk, now);
}

FlowPace pace_of(std::chrono::microseconds each, PaceClock::time_point& now) {
  FlowPace pace;
  carry(pace, now, each, 50);
  return pace;
}

bool is_for(const FlowPace& flow, const std::vector<FlowPace>& others, std::size_t waiting,
            PaceClock::time_point now) {
  ChunkOffer offer(kChunk, waiting, now);
  for (const FlowPace& other : others)
    offer.add_other(other);
  return offer.is_for(flow);
}

TEST_SUITE_BEGIN("comm/transports/flow_pace");

TEST_CASE("a rate is that of the time in which something was under way") {
  PaceClock::time_point now{};
  FlowPace pace;
  CHECK_FALSE(pace.is_known());
  carry(pace, now, 1000us, 20);
  CHECK(pace.rate() == doctest::Approx(kChunk / 1e-3));
  now += 10s;
  carry(pace, now, 1000us, 20);
  CHECK(pace.rate() == doctest::Approx(kChunk / 1e-3));
  CHECK(pace.under_way() == 0);
}

TEST_CASE("confirmations that come several at a time do not make a flow faster") {
  PaceClock::time_point now{};
  FlowPace pace;
  for (int batch = 0; batch < 20; ++batch) {
    for (int i = 0; i < 8; ++i)
      pace.sent(kChunk, now);
    now += 8ms;
    for (int i = 0; i < 7; ++i)
      pace.confirmed(kChunk, now);
    pace.sent(kChunk, now);
    pace.confirmed(kChunk, now);
  }
  CHECK(pace.rate() / (kChunk / 1e-3) == doctest::Approx(1).epsilon(0.15));
}

TEST_CASE("a flow that becomes slower or faster is known for it within a tenth of a second") {
  PaceClock::time_point now{};
  FlowPace pace = pace_of(1000us, now);
  carry(pace, now, 10ms, 10);
  CHECK(pace.rate() < 1.5 * kChunk / 10e-3);
  carry(pace, now, 1000us, 100);
  CHECK(pace.rate() > 0.9 * kChunk / 1e-3);
}

TEST_CASE("what the first bytes take longer is latency") {
  PaceClock::time_point now{};
  FlowPace pace = pace_of(1000us, now);
  for (int i = 0; i < 30; ++i) {
    pace.sent(kChunk, now);
    now += 6ms;
    pace.confirmed(kChunk, now);
  }
  CHECK(pace.latency().count() == doctest::Approx(5e-3).epsilon(0.01));
  CHECK(pace.rate() == doctest::Approx(kChunk / 1e-3));
  CHECK(pace.time_of(kChunk, now).count() == doctest::Approx(6e-3).epsilon(0.01));
}

TEST_CASE("equal flows share a message to its last chunk") {
  PaceClock::time_point now{};
  const FlowPace one = pace_of(1000us, now);
  for (const std::size_t waiting : {kChunk, 2 * kChunk, 100 * kChunk}) {
    CHECK(is_for(one, {one}, waiting, now));
    CHECK(is_for(one, {one, one, one}, waiting, now));
  }
}

TEST_CASE("a slow flow takes chunks until the others are done sooner with the rest") {
  PaceClock::time_point now{};
  const FlowPace slow = pace_of(10ms, now);
  const FlowPace fast = pace_of(1000us, now);
  CHECK(is_for(slow, {fast}, 20 * kChunk, now));
  CHECK_FALSE(is_for(slow, {fast}, 8 * kChunk, now));
  CHECK(is_for(fast, {slow}, kChunk, now));
  SUBCASE("what is under way on the others counts, too") {
    FlowPace busy = fast;
    for (int i = 0; i < 10; ++i)
      busy.sent(kChunk, now);
    CHECK(is_for(slow, {busy}, 8 * kChunk, now));
  }
  SUBCASE("what is under way on the flow itself comes first") {
    FlowPace busy = slow;
    busy.sent(kChunk, now);
    CHECK_FALSE(is_for(busy, {fast}, 18 * kChunk, now));
    CHECK(is_for(busy, {fast}, 21 * kChunk, now));
  }
}

TEST_CASE("at least one flow takes a chunk, whatever their paces are") {
  PaceClock::time_point now{};
  std::vector<FlowPace> paces;
  for (const auto each : {100us, 150us, 3000us, 20000us})
    for (int under_way = 0; under_way < 3; ++under_way) {
      FlowPace pace = pace_of(each, now);
      for (int i = 0; i < under_way; ++i)
        pace.sent(kChunk, now);
      paces.push_back(pace);
    }
  for (const auto later : {0us, 500us, 50000us, 5000000us})
    for (std::size_t count = 2; count <= paces.size(); ++count)
      for (std::size_t first = 0; first + count <= paces.size(); ++first) {
        int takers = 0;
        for (std::size_t flow = first; flow < first + count; ++flow) {
          std::vector<FlowPace> others(paces.begin() + static_cast<std::ptrdiff_t>(first),
                                       paces.begin() + static_cast<std::ptrdiff_t>(first + count));
          others.erase(others.begin() + static_cast<std::ptrdiff_t>(flow - first));
          if (is_for(paces[flow], others, kChunk, now + later)) ++takers;
        }
        CHECK(takers >= 1);
      }
}

TEST_CASE("an idle flow that nothing is known of is tried first") {
  PaceClock::time_point now{};
  const FlowPace known = pace_of(1000us, now);
  FlowPace unknown;
  CHECK_FALSE(is_for(known, {unknown}, 100 * kChunk, now));
  CHECK(is_for(unknown, {known}, 100 * kChunk, now));
  // It has its chunk, and does not hold up the others.
  unknown.sent(kChunk, now);
  CHECK(is_for(known, {unknown}, 100 * kChunk, now));
}

TEST_CASE("a flow that falls silent gets nothing, and does not keep the others waiting") {
  PaceClock::time_point now{};
  FlowPace silent = pace_of(100us, now);
  const FlowPace slow = pace_of(1000us, now);
  silent.sent(kChunk, now);
  CHECK_FALSE(is_for(slow, {silent}, kChunk, now));
  now += 50ms;
  CHECK(is_for(slow, {silent}, kChunk, now));
  CHECK_FALSE(is_for(silent, {slow}, 10 * kChunk, now));
}

TEST_CASE("a flow that got nothing for a while is tried again, a very slow one less often") {
  PaceClock::time_point now{};
  const FlowPace slow = pace_of(10ms, now);
  const FlowPace slowest = pace_of(1s, now);
  const FlowPace fast = pace_of(100us, now);
  CHECK_FALSE(is_for(slow, {fast}, kChunk, slow.last_sent() + 150ms));
  CHECK(is_for(slow, {fast}, kChunk, slow.last_sent() + 250ms));
  CHECK_FALSE(is_for(slowest, {fast}, kChunk, slowest.last_sent() + 15s));
  CHECK(is_for(slowest, {fast}, kChunk, slowest.last_sent() + 25s));
}

TEST_CASE("what a flow had under way when it was given up is forgotten") {
  PaceClock::time_point now{};
  FlowPace pace = pace_of(1000us, now);
  pace.sent(10 * kChunk, now);
  pace.forget_sent();
  CHECK(pace.under_way() == 0);
  CHECK(pace.time_of(kChunk, now).count() == doctest::Approx(1e-3).epsilon(0.01));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
