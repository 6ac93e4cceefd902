// Steps whose numbers are not finite, and steps that a rank leaves out: what a round is without
// them, and the warnings about them.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "comm/multistep/multistep.hpp"
#include "support/connect_in_process.hpp"
#include "support/gradient_steps.hpp"
#include "support/multistep_trainee.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::communicators_in_process;
using test::index_of;
using test::kAllModes;
using test::run_ranks;

TEST_SUITE_BEGIN("comm/multistep/lost_steps");

TEST_CASE("numbers that are not finite are named, and skip a round on all ranks") {
  for (const std::string mode : {"accumulate=2", "local_steps=2", "delay=1", "slices=1"}) {
    auto ranks = communicators_in_process(2, 20s);
    std::vector<std::vector<float>> found(2);
    std::vector<int> results(2);
    std::vector<int> named(2);
    run_ranks(ranks, [&](Communicator& comm) {
      GradientSettings settings;
      settings.non_finite = NonFiniteAction::skip;
      std::vector<float> values(5, 1);
      Multistep steps(comm, multistep_settings(mode), settings);
      steps.add({.name = "w", .shape = {5}}, std::as_writable_bytes(std::span(values)));
      steps.begin();
      for (int step = 0; step < 6; ++step) {
        const bool is_bad = comm.rank() == Rank{1} && step == 3;
        for (float& each : values)
          each = is_bad ? std::numeric_limits<float>::quiet_NaN() : each + 1;
        const MultistepOutcome outcome = steps.step();
        results[index_of(comm)] += outcome.has_results ? 1 : 0;
        if (outcome.non_finite && outcome.non_finite->rank == Rank{1}) ++named[index_of(comm)];
      }
      for (bool is_over = false; !is_over;) {
        const MultistepOutcome outcome = steps.finish();
        results[index_of(comm)] += outcome.has_results ? 1 : 0;
        is_over = outcome.is_over;
      }
      found[index_of(comm)] = values;
    });
    CAPTURE(mode);
    const bool has_round_a_step = mode == "delay=1" || mode == "slices=1";
    CHECK(results == std::vector<int>(2, has_round_a_step ? 5 : 2));
    CHECK(named == std::vector<int>(2, 1));
    for (const float each : found[0])
      CHECK(std::isfinite(each));
    CHECK(found[0] == found[1]);
  }
}

/// Makes steps with two tensors, one of which rank 1 leaves out, or takes without moving anything
/// and with next to no weight. Returns the sums that every rank has in the end, by rank, behind
/// where its rounds have ended.
std::vector<std::vector<double>> trained_without(const std::string& mode, int omitted,
                                                 bool leaves_out) {
  auto ranks = communicators_in_process(2, 20s);
  std::vector<std::vector<double>> found(2);
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<std::vector<double>> values(2, std::vector<double>(4));
    std::vector<double> sums(8);
    Multistep steps(comm, multistep_settings(mode));
    for (std::size_t t = 0; t < values.size(); ++t)
      steps.add({.name = std::to_string(t), .type = ElementType::float64, .shape = {4}},
                std::as_writable_bytes(std::span(values[t])));
    steps.begin();
    const auto take = [&](const MultistepOutcome& outcome) {
      found[index_of(comm)].push_back(outcome.is_round_end ? 1 : 0);
      if (!outcome.has_results || !averages_gradients(steps.mode().mode)) return outcome.is_over;
      for (std::size_t i = 0; i < sums.size(); ++i)
        sums[i] += std::exchange(values[i / 4][i % 4], 0);
      return outcome.is_over;
    };
    for (int step = 0; step < 10; ++step) {
      const bool is_omitted = comm.rank() == Rank{1} && step == omitted;
      for (std::size_t i = 0; i < sums.size() && !is_omitted; ++i)
        values[i / 4][i % 4] += std::sin(static_cast<double>(i) + 7 * comm.rank().value + step);
      if (is_omitted && leaves_out && averages_gradients(steps.mode().mode))
        values[0][1] = std::numeric_limits<double>::quiet_NaN();
      if (is_omitted && !leaves_out) steps.weigh(1e-300);
      take(is_omitted && leaves_out ? steps.leave_out() : steps.step());
    }
    while (!take(steps.finish())) {
    }
    for (std::size_t i = 0; i < sums.size(); ++i)
      found[index_of(comm)].push_back(sums[i] + values[i / 4][i % 4]);
  });
  return found;
}

TEST_CASE("a step that is left out has no weight, and rounds end where they would with it") {
  for (const std::string& mode : kAllModes)
    for (const int omitted : {0, 4, 9}) {
      CAPTURE(mode);
      CAPTURE(omitted);
      const auto found = trained_without(mode, omitted, true);
      CHECK(found[0] == found[1]);
      CHECK(found == trained_without(mode, omitted, false));
    }
}

TEST_CASE("slices that are not finite go back together, and one round alone has no results") {
  auto ranks = communicators_in_process(2, 20s);
  std::vector<std::vector<float>> found(2);
  std::vector<int> lost(2);
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> values(6, 1);
    Multistep steps(comm, multistep_settings("slices=3"), {.non_finite = NonFiniteAction::skip});
    for (std::size_t t = 0; t < 3; ++t)
      steps.add({.name = std::to_string(t), .shape = {2}},
                std::as_writable_bytes(std::span(values).subspan(2 * t, 2)));
    steps.begin();
    for (int step = 0; step < 9; ++step) {
      const bool is_bad = comm.rank() == Rank{1} && step == 4;
      for (float& each : values)
        each = is_bad ? std::numeric_limits<float>::quiet_NaN() : each + 1;
      if (!steps.step().has_results) ++lost[index_of(comm)];
      CHECK(std::ranges::all_of(values, [](float each) { return std::isfinite(each); }));
    }
    while (!steps.finish().is_over) {
    }
    found[index_of(comm)] = values;
  });
  CHECK(lost == std::vector{1, 1});
  CHECK(found[0] == found[1]);
  // Rank 1 has lost a step of the first slice and two of the last, with their weight; both ranks
  // have lost three of the second.
  const std::vector<double> wanted{5 + 13.0 / 5 + 2, 3 + 4, 4 + 10.0 / 4 + 3};
  for (std::size_t i = 0; i < 6; ++i)
    CHECK(found[0][i] == doctest::Approx(wanted[i / 2]));
}

/// Keeps the warnings of a rank.
struct Heard final : GradientEvents {
  void warned(const std::string& sentence) override { sentences.push_back(sentence); }
  int count(const std::string& part) const {
    return static_cast<int>(std::ranges::count_if(sentences, [&](const std::string& sentence) {
      return sentence.find(part) != std::string::npos;
    }));
  }
  std::vector<std::string> sentences{};
};

TEST_CASE("all ranks hear of a rank whose steps come to nothing again and again") {
  auto ranks = communicators_in_process(3, 20s);
  std::vector<Heard> heard(3);
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> values(3, 1);
    Multistep steps(comm, multistep_settings("local_steps=2"), {}, &heard[index_of(comm)]);
    steps.add({.name = "w", .shape = {3}}, std::as_writable_bytes(std::span(values)));
    steps.begin();
    for (int step = 0; step < 18; ++step) {
      // Rank 0 leaves out one step of each round, which is no news for others.
      const bool is_left_out = comm.rank() == Rank{1} || (comm.rank() == Rank{0} && step % 2 == 0);
      for (float& each : values)
        each += is_left_out ? 0 : 1;
      if (is_left_out)
        steps.leave_out();
      else
        steps.step();
    }
    CHECK(values[0] == doctest::Approx(1 + 9 * 5.0 / 3));  // (1 + 2 * 2) / (1 + 2) a round.
  });
  for (const Heard& each : heard) {
    CHECK(each.sentences.size() == 2);
    CHECK(each.count("rank 1 gave nothing to the last 3 rounds") == 1);
    CHECK(each.count("rank 1 gave nothing to the last 6 rounds") == 1);
  }
}

TEST_CASE("all ranks hear of rounds that are skipped again and again, and of the rank") {
  auto ranks = communicators_in_process(3, 20s);
  std::vector<Heard> heard(3);
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> values(3, 1);
    Multistep steps(comm, multistep_settings("local_steps=1"),
                    {.non_finite = NonFiniteAction::skip}, &heard[index_of(comm)]);
    steps.add({.name = "w", .shape = {3}}, std::as_writable_bytes(std::span(values)));
    steps.begin();
    for (int step = 0; step < 8; ++step) {
      if (comm.rank() == Rank{1} && step != 4) values[1] = std::numeric_limits<float>::infinity();
      steps.step();
    }
  });
  for (const Heard& each : heard) {
    CHECK(each.count("the last 3 rounds were skipped") == 2);
    CHECK(each.count("rank 1 has numbers that are not finite") == 2);
  }
  CHECK(heard[0].sentences.size() == 2);
  CHECK(heard[1].count("the move of parameter 'w' of rank 1 has infinity at index 1") == 7);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
