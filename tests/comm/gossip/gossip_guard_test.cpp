// The decisions of the guard, and the sketches that it measures by.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "comm/gossip/distance.hpp"
#include "comm/gossip/drift_guard.hpp"
#include "comm/gossip/gossip_plan.hpp"
#include "comm/gossip/sketch.hpp"

namespace fastgpu::comm {
namespace {

constexpr PlainDistances kPlain{.spread = 4, .lag = 1.25};  // About those of a ring of 8.

GossipSettings with_codec(CodecChoice codec, std::optional<double> step = {}) {
  GossipSettings settings;
  settings.codec = codec;
  settings.step_size = step;
  return settings;
}

const CodecChoice kOnePercent{CodecId::top_k, 0.01};

std::vector<std::string> texts_of(const std::vector<GuardRung>& rungs) {
  std::vector<std::string> texts;
  for (const GuardRung& rung : rungs) {
    std::string text = wire_of(rung) + " ";
    text += std::to_string(rung.step_size).substr(0, 5);
    if (rung.exact_every > 0) text += " exact " + std::to_string(rung.exact_every);
    texts.push_back(text);
  }
  return texts;
}

TEST_SUITE_BEGIN("comm/gossip/guard");

TEST_CASE("the step size is taken back first, then compression is eased, then exact steps come") {
  struct Row {
    CodecChoice codec;
    std::optional<double> step;
    double lag;
    std::vector<std::string> expected;
  };
  const std::string last = "same 1.000 exact 1";
  const Row rows[] = {
      {kOnePercent,
       {},
       1.25,
       {"topk:0.01 0.050", "topk:0.04 0.200", "topk:0.01 0.050 exact 2", last}},
      {kOnePercent, 0.01, 0.4, {"topk:0.01 0.010", "topk:0.04 0.200", last}},
      {kOnePercent,
       0.2,
       6,
       {"topk:0.01 0.200", "topk:0.01 0.100", "topk:0.01 0.050", "topk:0.04 0.200",
        "topk:0.01 0.050 exact 7", "topk:0.01 0.050 exact 3", last}},
      {{CodecId::one_bit}, {}, 1.25, {"1bit 0.200", "int8 0.800", "1bit 0.200 exact 2", last}},
      {{CodecId::one_bit}, 0.5, 0, {"1bit 0.500", "1bit 0.200", "int8 0.800", last}},
      {{CodecId::int8}, 1.0, 1.25, {"int8 1.000", "int8 0.800 exact 2", last}},
  };
  for (const Row& row : rows)
    CHECK(texts_of(guard_rungs(with_codec(row.codec, row.step), MixMethod::difference, row.lag)) ==
          row.expected);
  const std::vector<std::string> plain = {"same 1.000", "same 1.000 exact 32", "same 1.000 exact 8",
                                          "same 1.000 exact 2", last};
  CHECK(texts_of(guard_rungs({}, MixMethod::averaging, 0)) == plain);
  CHECK(texts_of(guard_rungs({}, MixMethod::push_sum, 0)) == plain);
  CHECK(guard_rungs({}, MixMethod::exact, 0).front().exact_every == 1);
}

struct GuardRow {
  const char* what;
  std::size_t rung;
  double before;  ///< The distance measured before.
  GuardMeasure measure;
  GuardAction action;
  std::size_t next;
  bool is_exact_next;
};

void check_decisions(std::span<const GuardRow> rows, const std::vector<GuardRung>& rungs) {
  for (const GuardRow& row : rows) {
    CAPTURE(row.what);
    GuardState state{.rung = row.rung, .distance = row.before};
    state.alignment = row.measure.alignment;
    const GuardDecision decision = decide(state, row.measure, rungs, kPlain);
    CHECK(decision.action == row.action);
    CHECK(decision.state.rung == row.next);
    CHECK(decision.is_exact_next == row.is_exact_next);
  }
}

TEST_CASE("a table of measurements leads to the guard's decisions with codes") {
  using enum GuardAction;
  const auto rungs = guard_rungs(with_codec(kOnePercent, 0.1), MixMethod::difference, kPlain.lag);
  REQUIRE(rungs.size() == 5);
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // Movement 1 and spread 4: a distance of 1.4 is allowed along updates that lead apart, or that of
  // plain averaging's lag; 46 against those at random.
  const GuardRow rows[] = {
      {"near", 0, 1, {1, 1, 0.9, 10}, none, 0, false},
      {"far, but at random", 0, 20, {20, 1, 0, 10}, none, 0, false},
      {"far, where updates lead back", 0, 40, {40, 1, -0.3, 10}, none, 0, false},
      {"farther along updates than plain averaging", 0, 6, {6.5, 1, 0.2, 10}, exact_steps, 3, true},
      {"as far, but perhaps by chance", 0, 6, {6.5, 1, 0.19, 10}, none, 0, false},
      {"far, and a little apart", 0, 20, {20, 1, 0.1, 10}, smaller_step, 1, true},
      {"far apart, where smaller steps do not help", 0, 3, {3, 1, 1, 10}, exact_steps, 3, true},
      {"far apart, with usual steps", 1, 3, {3, 1, 1, 10}, exact_steps, 3, true},
      {"far apart, with less compression", 2, 3, {3, 1, 1, 10}, exact_steps, 3, true},
      {"far apart, though nearer than before", 0, 4, {3, 1, 1, 10}, exact_steps, 3, true},
      {"very far at random", 0, 50, {50, 1, 0, 10}, smaller_step, 1, true},
      {"very far at random, but nearer than before", 0, 90, {50, 1, 0, 10}, none, 0, false},
      {"extremely far, though nearer than before", 0, 900, {700, 1, 0, 10}, smaller_step, 1, true},
      {"no number", 0, 3, {kNaN, 1, 0, 10}, smaller_step, 1, true},
      {"infinite", 0, 3, {kInfinity, 1, 0, 10}, smaller_step, 1, true},
      {"apart between exact averages", 3, 5, {5.9, 1, 1, 10}, none, 3, false},
      {"too far between exact averages", 3, 7, {7, 1, 1, 10}, exact_steps, 4, true},
      {"at the end", 4, 7, {7, 1, 1, 10}, none, 4, false},
      {"nothing moves, and all are equal to rounding", 0, 0, {1e-6, 0, 1, 10}, none, 0, false},
      {"nothing moves", 0, 1, {1, 0, 0.1, 10}, smaller_step, 1, true},
  };
  check_decisions(rows, rungs);
}

TEST_CASE(
    "without codes, exact averages come if ranks are farther than plain averaging lets them") {
  using enum GuardAction;
  const auto rungs = guard_rungs({}, MixMethod::averaging, 0);
  const GuardRow rows[] = {
      {"apart", 0, 5, {5.9, 1, 1, 10}, none, 0, false},
      {"too far", 0, 7, {7, 1, 1, 10}, exact_steps, 1, true},
      {"still so", 3, 7, {7, 1, 1, 10}, exact_steps, 4, true},
      {"at the end", 4, 7, {7, 1, 1, 10}, none, 4, false},
  };
  check_decisions(rows, rungs);
}

TEST_CASE("exact averages of ranks that have drifted apart stay for long") {
  const auto rungs = guard_rungs(with_codec(kOnePercent), MixMethod::difference, kPlain.lag);
  const GuardState apart = decide({}, {3, 1, 1, 10}, rungs, kPlain).state;
  const GuardState lagging =
      decide({.distance = 20, .alignment = 0.1}, {20, 1, 0.1, 10}, rungs, kPlain).state;
  CHECK(rungs[apart.rung].exact_every == 2);
  CHECK(rungs[lagging.rung].exact_every == 0);
  CHECK(apart.patience == 8 * GuardState{}.patience);
  CHECK(lagging.patience == 2 * GuardState{}.patience);
}

TEST_CASE("ranks at one place have no direction, and the first distance gives it") {
  const auto rungs = guard_rungs(with_codec(kOnePercent), MixMethod::difference, kPlain.lag);
  GuardState state = decide({}, {1e-8, 1, 0.9, 10}, rungs, kPlain).state;
  state = decide(state, {0.5, 1, 0.8, 10}, rungs, kPlain).state;
  CHECK(state.alignment == 0.8);
  state = decide(state, {1e-8, 1, -1, 10}, rungs, kPlain).state;
  CHECK(state.alignment == 0.8);
}

TEST_CASE("the lag of plain averaging is that of a ring, and of a hypercube") {
  const auto lag = [](const std::string& topology) {
    return lag_of(checked_weights(gossip_topology(topology), 8, 0));
  };
  CHECK(lag("ring") == doctest::Approx(1.25).epsilon(1e-3));  // By the eigenvalues of the weights.
  CHECK(lag("hypercube") == doctest::Approx(8.0 / 21).epsilon(1e-3));
}

TEST_CASE("a calm time takes one rung back, the next time after twice as long") {
  const auto rungs = guard_rungs(with_codec(kOnePercent), MixMethod::difference, kPlain.lag);
  const GuardMeasure near{0.1, 1, 0, 10};
  const GuardMeasure far{50, 1, 0.1, 10};
  GuardState state = decide({}, far, rungs, kPlain).state;
  CHECK(state.rung == 1);
  const std::uint32_t patience = state.patience;
  CHECK(patience == 2 * GuardState{}.patience);
  for (std::uint32_t i = 1; i < patience; ++i) {
    const GuardDecision decision = decide(state, near, rungs, kPlain);
    CHECK(decision.action == GuardAction::none);
    state = decision.state;
  }
  const GuardDecision relaxed = decide(state, near, rungs, kPlain);
  CHECK(relaxed.action == GuardAction::relaxed);
  CHECK(relaxed.state.rung == 0);
  CHECK(decide(relaxed.state, far, rungs, kPlain).state.patience == 2 * patience);
}

TEST_CASE("an action is described with what holds now") {
  const auto rungs = guard_rungs(with_codec(kOnePercent, 0.5), MixMethod::difference, kPlain.lag);
  GuardDecision decision{.action = GuardAction::smaller_step, .is_exact_next = true};
  decision.state.rung = 1;
  decision.state.distance = 3.25;
  CHECK(describe(decision, rungs, 40) ==
        "step 40: ranks are 3.25 from their average, too far: the consensus step size is taken "
        "back; now topk:0.01 with the consensus step size 0.25; this step averages exactly");
  decision = {.action = GuardAction::exact_steps};
  decision.state.rung = rungs.size() - 2;
  CHECK(describe(decision, rungs, 8) ==
        "step 8: ranks are 0 from their average, too far: exact averages are put in; now every 2 "
        "steps one averages exactly, between which topk:0.01 is mixed");
  const auto plain = guard_rungs({}, MixMethod::averaging, 0);
  decision.state.rung = 2;
  CHECK(describe(decision, plain, 8).ends_with("now every 8 steps one averages exactly"));
}

TEST_CASE("a sketch is linear, and its length is that of the vector on average") {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  double ratio = 0;
  constexpr int kVectors = 200;
  for (int i = 0; i < kVectors; ++i) {
    std::vector<float> one(500);
    double length = 0;
    for (float& number : one) {
      number = normal(random);
      length += static_cast<double>(number) * number;
    }
    Sketch whole{};
    add_to_sketch(whole, one);
    ratio += squared_length(whole) / length / kVectors;
    Sketch parts{};
    add_to_sketch(parts, std::span(one).first(123));
    add_to_sketch(parts, std::span(one).subspan(123), 123);
    for (std::size_t at = 0; at < whole.size(); ++at)
      CHECK(parts[at] == doctest::Approx(whole[at]).epsilon(1e-5));
  }
  CHECK(ratio == doctest::Approx(1).epsilon(0.08));
}

TEST_CASE("the measured distance, movement and alignment are near those of float64") {
  constexpr int kRanks = 8;
  constexpr std::size_t kNumbers = 4000;
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> common(kNumbers);
  for (float& number : common)
    number = 10 * normal(random);
  for (const bool is_aligned : {false, true}) {
    DistanceMeter::Sums all{};
    double distance = 0;
    double movement = 0;
    for (int rank = 0; rank < kRanks; ++rank) {
      std::vector<float> numbers(kNumbers);
      std::vector<float> after(kNumbers);
      for (std::size_t i = 0; i < kNumbers; ++i) {
        const float off = normal(random);
        const float step = is_aligned ? 0.5F * off : 0.5F * normal(random);
        numbers[i] = common[i] + off;
        after[i] = numbers[i] + step;
        distance += static_cast<double>(off) * off / kRanks;
        movement += static_cast<double>(step) * step / kRanks;
      }
      DistanceMeter meter;
      CHECK_FALSE(meter.has_note());
      meter.note(numbers);
      CHECK(meter.has_note());
      meter.take(after);
      for (std::size_t i = 0; i < all.size(); ++i)
        all[i] += meter.sums()[i];
    }
    const GuardMeasure measure = DistanceMeter::measure_of(all, kRanks);
    CHECK(measure.distance == doctest::Approx(std::sqrt(distance)).epsilon(0.25));
    CHECK(measure.movement == doctest::Approx(std::sqrt(movement)).epsilon(0.25));
    CHECK(measure.alignment == doctest::Approx(is_aligned ? 1 : 0).epsilon(0.2));
  }
}

TEST_CASE("ranks with the same numbers are at no distance") {
  const std::vector<float> numbers(1000, 1234.5F);
  DistanceMeter meter;
  meter.note(numbers);
  meter.take(numbers);
  DistanceMeter::Sums all = meter.sums();
  for (double& sum : all)
    sum *= 3;
  const GuardMeasure measure = DistanceMeter::measure_of(all, 3);
  CHECK(measure.distance <= 1e-6 * measure.length);
  CHECK(measure.movement == 0);
  CHECK(measure.alignment == 0);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
