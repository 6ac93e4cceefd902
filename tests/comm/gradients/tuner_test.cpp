#include "comm/gradients/tuner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace fastgpu::comm {
namespace {

using Surface = std::function<double(const TunerSetting&)>;  ///< Seconds of a step.
using Random = std::mt19937;

constexpr double kModel = 100e6;

SearchSpace space(int most_flows) {
  return {.usual = {std::min(4, most_flows), 2, {32 << 20}},
          .most_flows = most_flows,
          .most_streams = 8,
          .gradient_bytes = kModel,
          .gradients = 161};
}

/// What the tuner believes: ten gigabits without a cap on flows.
constexpr NetworkLink kBelieved{
    .latency = Seconds(50e-6), .flow = gigabits(10), .shared = gigabits(10)};

/// A link with a cap on each flow, and compute that all but the last bucket hides behind.
Surface capped(double link, double flow, double latency) {
  return [=](const TunerSetting& setting) {
    const double rate = std::min(link, flow * setting.flows);
    const double bucket = static_cast<double>(setting.bucket.count);
    return 0.1 + (kModel + std::min(bucket, kModel)) / rate +
           latency * kModel / bucket / setting.streams + 1e-4 * (setting.streams + setting.flows);
  };
}

Tuner tuned(const SearchSpace& space, const Surface& surface, double noise, Random& random) {
  std::exponential_distribution<double> disturbance(1);
  Tuner tuner(space, kBelieved);
  while (!tuner.is_done()) {
    const double disturbed = 1 + noise * disturbance(random);
    tuner.step_took(Seconds(surface(tuner.current()) * disturbed));
  }
  return tuner;
}

double best_on_grid(const SearchSpace& space, const Surface& surface) {
  double best = 1e9;
  for (const Prediction& each : predictions(space, kBelieved))
    best = std::min(best, surface(each.setting));
  return best;
}

TEST_SUITE_BEGIN("comm/gradients/tuner");

TEST_CASE("it ends within 30 steps, near the best point of the grid") {
  Random random(1);
  const Surface surfaces[] = {capped(120e6, 36e6, 1e-3), capped(120e6, 120e6, 1e-3),
                              capped(1.2e9, 150e6, 5e-5), capped(120e6, 10e6, 1e-3),
                              capped(10e9, 10e9, 2e-3)};
  for (const Surface& surface : surfaces) {
    for (const int most_flows : {1, 4, 16}) {
      const SearchSpace where = space(most_flows);
      const Tuner tuner = tuned(where, surface, 0, random);
      CHECK(tuner.steps() <= Tuner::kMostSteps);
      CHECK(surface(tuner.current()) <= 1.05 * best_on_grid(where, surface));
    }
  }
}

TEST_CASE("flows that are capped are found to need four, in spite of noise") {
  Random random(2);
  const Surface surface = capped(120e6, 36e6, 1e-3);
  SearchSpace where = space(16);
  where.usual.flows = 1;
  int good = 0;
  for (int run = 0; run < 200; ++run) {
    const Tuner tuner = tuned(where, surface, 0.05, random);
    CHECK(tuner.current().flows >= 4);
    if (surface(tuner.current()) <= 1.05 * best_on_grid(where, surface)) ++good;
  }
  CHECK(good >= 180);
}

TEST_CASE("another way of all-reduce is found where it helps, and only there") {
  Random random(5);
  SearchSpace where = space(4);
  where.plans = {{Algorithm::ring}, {.piece_log2 = 20}, {Algorithm::tree}};
  const Surface rest = capped(1.2e9, 1.2e9, 5e-5);
  for (const AllReducePlan& quick : {where.plans[0], where.plans[1], AllReducePlan{}}) {
    const Surface surface = [&](const TunerSetting& setting) {
      return rest(setting) * (setting.plan == quick ? 1 : 1.4);
    };
    const Tuner tuner = tuned(where, surface, 0.01, random);
    CHECK(tuner.steps() <= Tuner::kMostSteps);
    CHECK(tuner.current().plan == quick);
  }
}

TEST_CASE("where nothing helps it leaves what there was") {
  Random random(3);
  const SearchSpace where = space(16);
  const Surface flat = [](const TunerSetting&) { return 0.2; };
  for (int run = 0; run < 100; ++run)
    CHECK(tuned(where, flat, 0.01, random).current() == where.usual);
}

TEST_CASE("ranks that are told the same come to the same") {
  Random first(4);
  Random second(4);
  const Surface surface = capped(120e6, 36e6, 1e-3);
  Tuner a(space(8), kBelieved);
  Tuner b(space(8), kBelieved);
  std::uniform_real_distribution<double> noise(1, 1.2);
  while (!a.is_done()) {
    REQUIRE(a.current() == b.current());
    a.step_took(Seconds(surface(a.current()) * noise(first)));
    b.step_took(Seconds(surface(b.current()) * noise(second)));
  }
  CHECK(b.is_done());
  CHECK(a.current() == b.current());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
