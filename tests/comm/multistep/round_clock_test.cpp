#include "comm/multistep/round_clock.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/multistep/outer_step.hpp"
#include "comm/multistep/saved_state.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using test::failure_of;

TEST_SUITE_BEGIN("comm/multistep");

RoundTotal total_of(const std::vector<RoundShare>& shares) {
  RoundTotal total;
  for (const RoundShare& share : shares) {
    total.weight += share.weight;
    total.finished += share.is_finished ? 1 : 0;
  }
  total.weight /= static_cast<double>(shares.size());
  total.finished /= static_cast<double>(shares.size());
  return total;
}

TEST_CASE("a round ends with its last step, and weighs what its steps weigh") {
  RoundClock clock(multistep_settings("accumulate=3"));
  CHECK_FALSE(clock.step(1));
  CHECK_FALSE(clock.is_last_step());
  CHECK_FALSE(clock.step(2));
  CHECK(clock.is_last_step());
  CHECK(clock.step(4));
  const RoundShare share = clock.take_share(false);
  CHECK(share.weight == 7);
  CHECK(share.reference == 3);
  const RoundVerdict verdict = clock.judge(share, {.weight = 7});
  CHECK(verdict.has_results);
  CHECK(verdict.factor == 3.0 / 7);
  CHECK(clock.reference() == 7);  // From now on this is expected.
  CHECK(clock.round() == 1);
  CHECK(clock.steps() == 0);
}

TEST_CASE("a round without steps on any rank has no results, and the last one is over") {
  RoundClock clock(multistep_settings("local_steps=3"));
  const RoundShare share = clock.take_share(true);
  const RoundVerdict verdict = clock.judge(share, {.weight = 0, .finished = 1});
  CHECK_FALSE(verdict.has_results);
  CHECK(verdict.is_over);
}

TEST_CASE("slices are over once each of them was averaged after the last step") {
  RoundClock clock(multistep_settings("slices=3"));
  for (int step = 0; step < 4; ++step) {
    CHECK(clock.step(1));
    const RoundShare share = clock.take_share(false);
    CHECK(share.weight == std::min(step + 1, 3));
    CHECK_FALSE(clock.judge(share, {.weight = share.weight}).is_over);
  }
  for (const double weight : {2.0, 1.0}) {  // Of slices 1 and 2, which the last step has moved.
    const RoundShare share = clock.take_share(true);
    CHECK(share.weight == weight);
    CHECK_FALSE(clock.judge(share, {.weight = share.weight, .finished = 1}).is_over);
  }
  const RoundShare share = clock.take_share(true);
  CHECK(share.weight == 0);
  CHECK(clock.judge(share, {.weight = 0, .finished = 1}).is_over);
}

/// Ranks with clocks, and the number of batches that each has left.
struct RanksWithClocks {
  std::vector<RoundClock> clocks;
  std::vector<int> batches;
};

/// Plays all ranks to the end, in lock-step as a collective makes them; returns the weight that was
/// counted for each slice, or a sentence about what went wrong.
struct Played {
  std::vector<double> counted;
  std::string wrong;
  int rounds = 0;
};

Played play(RanksWithClocks& job, std::uint32_t slices) {
  Played played{std::vector<double>(slices), "", 0};
  for (;; ++played.rounds) {
    std::vector<RoundShare> shares;
    for (std::size_t r = 0; r < job.clocks.size(); ++r) {
      RoundClock& clock = job.clocks[r];
      bool has_ended = false;
      while (job.batches[r] > 0 && !has_ended) {
        --job.batches[r];
        has_ended = clock.step(1);
      }
      shares.push_back(clock.take_share(!has_ended));
    }
    for (const RoundShare& share : shares) {
      played.counted[share.slice] += share.weight;
      if (share.slice != shares[0].slice || share.round != shares[0].round)
        played.wrong = "ranks are in different rounds";
      if (share.reference != shares[0].reference) played.wrong = "ranks expect different weights";
    }
    int over = 0;
    for (std::size_t r = 0; r < job.clocks.size(); ++r)
      over += job.clocks[r].judge(shares[r], total_of(shares)).is_over ? 1 : 0;
    if (over > 0 && over < static_cast<int>(job.clocks.size())) played.wrong = "some are over";
    if (over > 0 || !played.wrong.empty()) return played;
    if (played.rounds > 10'000) played.wrong = "it does not end";
  }
}

TEST_CASE("whatever batches ranks have, they make the same rounds, and each batch counts once") {
  std::mt19937 random(7);
  const std::vector<std::string> modes = {"accumulate=1", "accumulate=4", "local_steps=5,warmup=3",
                                          "diloco=7",     "slices=1",     "slices=4"};
  for (int game = 0; game < 400; ++game) {
    const std::string mode = modes[random() % modes.size()];
    const MultistepSettings settings = multistep_settings(mode);
    const std::size_t ranks = 1 + random() % 6;
    const std::uint32_t slices = settings.mode == MultistepMode::slices ? settings.steps : 1;
    RanksWithClocks job;
    for (std::size_t r = 0; r < ranks; ++r) {
      job.clocks.emplace_back(settings);
      job.batches.push_back(static_cast<int>(random() % 3 == 0 ? 0 : random() % 30));
    }
    const int all = std::accumulate(job.batches.begin(), job.batches.end(), 0);
    CAPTURE(mode);
    CAPTURE(game);
    const Played played = play(job, slices);
    CHECK(played.wrong.empty());
    for (const double counted : played.counted)
      CHECK(counted == all);
  }
}

TEST_CASE("a clock goes on from its state, and refuses one that it cannot have") {
  RoundClock clock(multistep_settings("accumulate=4"));
  clock.step(1);
  clock.step(2.5);
  RoundClock other(multistep_settings("accumulate=4"));
  other.restore(clock.state());
  CHECK(other.state() == clock.state());
  CHECK_FALSE(other.step(1));
  CHECK(other.step(1));
  for (const RoundClock::State& bad :
       {RoundClock::State{}, RoundClock::State{.weights = {1, 2}},
        RoundClock::State{.steps = 4, .weights = {1}},
        RoundClock::State{.step_weight = 0, .weights = {1}}, RoundClock::State{.weights = {-1}},
        RoundClock::State{.weights = {std::numeric_limits<double>::infinity()}}})
    CHECK(failure_of([&] { other.restore(bad); }).kind() == ErrorKind::usage);
}

TEST_CASE("the outer optimizer is SGD with Nesterov momentum, in float32 and float64") {
  const auto check = [](auto zero, ElementType type, double tolerance) {
    using Number = decltype(zero);
    std::vector<Number> anchor{1, -2, 3};
    std::vector<Number> momentum(3);
    std::vector<double> reference{1, -2, 3};
    std::vector<double> velocity(3);
    const OuterRate rate{.rate = 0.7, .momentum = 0.9};
    for (int step = 0; step < 5; ++step) {
      std::vector<Number> moved;
      for (std::size_t i = 0; i < 3; ++i) {
        const double difference = 0.1 * static_cast<double>(i + 1) * (step % 2 == 0 ? 1 : -0.5);
        moved.push_back(static_cast<Number>(difference));
        velocity[i] = 0.9 * velocity[i] + difference;
        reference[i] -= 0.7 * (difference + 0.9 * velocity[i]);
      }
      outer_step(std::as_writable_bytes(std::span(anchor)),
                 std::as_writable_bytes(std::span(momentum)), std::as_bytes(std::span(moved)), type,
                 rate);
    }
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(static_cast<double>(anchor[i]) == doctest::Approx(reference[i]).epsilon(tolerance));
  };
  check(0.0F, ElementType::float32, 1e-5);
  check(0.0, ElementType::float64, 1e-14);
}

TEST_CASE("slices are in order, about equal, and some are empty where tensors are few") {
  const std::vector<std::size_t> bytes{100, 100, 100, 100, 100, 100};
  CHECK(slices_of_tensors(bytes, 3) == std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2});
  CHECK(slices_of_tensors(bytes, 1) == std::vector<std::uint32_t>(6));
  const std::vector<std::size_t> uneven{1000, 1, 1, 998};
  CHECK(slices_of_tensors(uneven, 2) == std::vector<std::uint32_t>{0, 1, 1, 1});
  const std::vector<std::size_t> two{8, 8};
  CHECK(slices_of_tensors(two, 4) == std::vector<std::uint32_t>{1, 3});
  const std::vector<std::size_t> none{0, 0};
  CHECK(slices_of_tensors(none, 2) == std::vector<std::uint32_t>{0, 0});
}

TEST_CASE("a saved state is read as it was, and damaged bytes are refused") {
  SavedMultistep state{.rank = {3}, .ranks = 5, .mode = "diloco=4,warmup=0,rate=0.7,momentum=0.9"};
  state.clock = {.round = 12, .steps = 2, .step_weight = 32, .weights = {64}};
  state.unused = RoundVerdict{.round = 11, .has_results = true, .factor = 0.5};
  state.tensors.push_back({"w", {std::byte{1}}, {}, {std::byte{2}, std::byte{3}}, {}});
  state.codecs = {{std::byte{9}}};
  const std::vector<std::byte> bytes = encode(state);
  const SavedMultistep read = decode_multistep(bytes);
  CHECK(read.rank == state.rank);
  CHECK(read.ranks == state.ranks);
  CHECK(read.mode == state.mode);
  CHECK(read.clock == state.clock);
  CHECK(read.unused->factor == 0.5);
  CHECK(read.tensors == state.tensors);
  CHECK(read.codecs == state.codecs);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK(failure_of([&] { decode_multistep(std::span(bytes).first(length)); }).kind() ==
          ErrorKind::usage);
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  CHECK(failure_of([&] { decode_multistep(longer); }).kind() == ErrorKind::usage);
  for (std::size_t at = 0; at < 8 * bytes.size(); ++at) {
    std::vector<std::byte> flipped = bytes;
    flipped[at / 8] ^= std::byte{1} << at % 8;
    CAPTURE(at);
    CHECK(failure_of([&] { decode_multistep(flipped); }).kind() == ErrorKind::usage);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
