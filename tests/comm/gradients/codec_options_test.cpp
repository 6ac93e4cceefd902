// The options of codecs: momentum that each rank applies before it encodes, warm-up, and memory.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "comm/gradients/gradient_exchange.hpp"
#include "comm/multistep/multistep.hpp"
#include "support/coded_model.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::CodedModel;
using test::CodedRun;
using test::communicators_in_process;
using test::failure_in;
using test::failure_of;
using test::index_of;
using test::mentions;
using test::Numbers;
using test::outcomes_of_ranks;
using test::RanksOnNodes;
using test::run_model;
using test::run_ranks;

constexpr std::size_t kRows = 24;
constexpr std::size_t kColumns = 50;
constexpr std::size_t kMatrix = kRows * kColumns;
constexpr std::size_t kBias = 30;  ///< Not encoded: small.

GradientSettings option_settings(const std::string& wire) {
  GradientSettings settings;
  settings.wire = WireType::encoded;
  settings.codec = *codec_choice(wire);
  settings.small = {200};
  settings.bucket = {3000};
  return settings;
}

Numbers moved_numbers(int rank, int step) {
  std::mt19937 random(static_cast<unsigned>(rank * 31 + step * 1009 + 5));
  std::normal_distribution<float> normal(0.3F, 1);
  Numbers all(kMatrix + kBias);
  for (float& each : all)
    each = normal(random);
  return all;
}

/// A matrix that is encoded and a bias that is not.
const test::ModelGradients kMatrixAndBias{.shapes = {{kRows, kColumns}, {kBias}},
                                          .numbers = moved_numbers};

/// Returns the sum over the ranks of what momentum makes of all gradients up to a step.
std::vector<double> velocity_after(int ranks, int step, double momentum) {
  std::vector<double> velocity(kMatrix + kBias);
  for (int before = 0; before <= step; ++before) {
    for (double& each : velocity)
      each *= momentum;
    for (int rank = 0; rank < ranks; ++rank) {
      const Numbers given = moved_numbers(rank, before);
      for (std::size_t i = 0; i < velocity.size(); ++i)
        velocity[i] += static_cast<double>(given[i]);
    }
  }
  return velocity;
}

TEST_SUITE_BEGIN("comm/gradients/codec_options");

TEST_CASE("with momentum, results and residuals are the sum of all velocities") {
  constexpr int kSteps = 8;
  for (const char* const wire : {"topk:0.05,momentum=0.9", "1bit,momentum=0.5",
                                 "powersgd:2,momentum=0.9", "topk:0.05,momentum=0.9,warmup=5"})
    for (const int count : {1, 3, 4}) {
      CAPTURE(wire);
      CAPTURE(count);
      const CodedRun run =
          run_model(kMatrixAndBias, {count, count == 4 ? 2 : 1}, option_settings(wire), kSteps);
      CHECK(run.is_equal_everywhere());
      const double momentum = codec_choice(wire)->momentum;
      std::vector<double> rest(kMatrix);
      double worst_bias = 0;
      for (int step = 0; step < kSteps; ++step) {
        const Numbers& result = run.of_rank_0()[static_cast<std::size_t>(step)];
        const std::vector<double> velocity = velocity_after(count, step, momentum);
        for (std::size_t i = 0; i < kMatrix; ++i)
          rest[i] += velocity[i] - static_cast<double>(result[i]);
        for (std::size_t i = kMatrix; i < velocity.size(); ++i)  // Not encoded, and moved too.
          worst_bias = std::max(worst_bias, std::abs(velocity[i] - static_cast<double>(result[i])));
      }
      CHECK(worst_bias < 1e-4);
      double worst = 0;
      for (std::size_t i = 0; i < kMatrix; ++i) {
        for (const Numbers& residual : run.residuals)
          rest[i] -= static_cast<double>(residual[i]);
        worst = std::max(worst, std::abs(rest[i]));
      }
      CHECK(worst < 5e-3);
    }
}

TEST_CASE("a step that is skipped, and one of another operation, leave velocities as they were") {
  GradientSettings settings = option_settings("topk:0.1,momentum=0.9");
  const CodedRun plain = run_model(kMatrixAndBias, {2, 1}, settings, 6);
  settings.non_finite = NonFiniteAction::skip;
  const CodedRun disturbed = run_model(kMatrixAndBias, {2, 1}, settings, 6, test::disturbed_at(0));
  CHECK(disturbed.results == plain.results);
}

TEST_CASE("NaN that is sent on stays in no velocity and in no memory") {
  const auto before_step = [](CodedModel& model, int step) {
    if (step != 1) return;
    model.fill(99);
    model.values()[0][5] = std::numeric_limits<float>::quiet_NaN();
    model.exchange_now();
    CHECK(!std::isfinite(model.values()[0][5]));
  };
  for (const char* const wire : {"topk:0.1,momentum=0.9", "topk:0.1,memory=0.1"}) {
    const CodedRun run = run_model(kMatrixAndBias, {2, 1}, option_settings(wire), 3, before_step);
    for (const Numbers& step : run.of_rank_0())
      CHECK(std::ranges::all_of(step, [](float each) { return std::isfinite(each); }));
  }
}

TEST_CASE("momentum, warm-up and memory go on from a saved state to the last bit") {
  for (const char* const wire :
       {"topk:0.02,momentum=0.9,warmup=6", "int8,momentum=0.5,warmup=4", "powersgd:1,warmup=5",
        "topk:0.05,memory=0.03", "topk:0.05,momentum=0.5,warmup=2,memory=0.05"}) {
    CAPTURE(wire);
    CHECK(test::resumes_exactly(kMatrixAndBias, option_settings(wire), 3, 9));
  }
}

TEST_CASE("a warm-up sends more at first, and all ranks change over in one step") {
  auto ranks = communicators_in_process(3, 10s);
  std::vector<std::vector<std::uint64_t>> bytes(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    CodedModel model(kMatrixAndBias, comm, option_settings("topk:0.01,warmup=6"));
    std::uint64_t before = 0;
    for (int step = 0; step < 8; ++step) {
      model.step(step);
      const std::uint64_t now = model.exchange().counters().bucket_bytes;
      bytes[index_of(comm)].push_back(now - before);
      before = now;
    }
  });
  CHECK(bytes[1] == bytes[0]);
  CHECK(bytes[2] == bytes[0]);
  const auto& each = bytes[0];
  CHECK(each[0] == each[1]);
  CHECK(each[2] < each[1]);
  CHECK(each[4] < each[3]);
  CHECK(each[6] < each[5]);
  CHECK(each[7] == each[6]);
}

TEST_CASE("codecs that send every number begin with numbers as they are") {
  for (const char* const wire : {"int8,warmup=2", "1bit,warmup=2", "powersgd:1,warmup=2"}) {
    const CodedRun run = run_model(kMatrixAndBias, {2, 1}, option_settings(wire), 3);
    CAPTURE(wire);
    for (int step = 0; step < 3; ++step) {
      bool is_exact = true;
      const Numbers one = moved_numbers(0, step);
      const Numbers other = moved_numbers(1, step);
      for (std::size_t i = 0; i < kMatrix; ++i)
        is_exact &= run.of_rank_0()[static_cast<std::size_t>(step)][i] == one[i] + other[i];
      CHECK(is_exact == (step < 2));
    }
  }
}

TEST_CASE("with memory, results and residuals are the sum of all gradients") {
  for (const RanksOnNodes& cluster : {RanksOnNodes{1, 1}, RanksOnNodes{3, 1}, RanksOnNodes{4, 2}}) {
    CAPTURE(cluster.ranks);
    const CodedRun run =
        run_model(kMatrixAndBias, cluster, option_settings("topk:0.05,memory=0.05"), 60);
    CHECK(run.is_equal_everywhere());
    CHECK(run.lost(kMatrixAndBias) < 5e-3);
  }
}

TEST_CASE("what gradients have in common need not be sent again and again") {
  const test::ModelGradients unchanging{
      .shapes = kMatrixAndBias.shapes,
      .numbers = [](int rank, int) { return moved_numbers(rank, 0); }};
  Numbers sum(kMatrix);
  for (int rank = 0; rank < 2; ++rank)
    for (std::size_t i = 0; i < kMatrix; ++i)
      sum[i] += moved_numbers(rank, 0)[i];
  const auto error_of = [&](const char* wire) {
    constexpr int kSteps = 400;
    const CodedRun run = run_model(unchanging, {2, 1}, option_settings(wire), kSteps);
    double error = 0;
    for (std::size_t i = 0; i < kMatrix; ++i)
      error += std::abs(static_cast<double>(run.of_rank_0()[kSteps - 1][i] - sum[i]));
    return error / static_cast<double>(kMatrix);
  };
  CHECK(error_of("topk:0.05") > 1);
  CHECK(error_of("topk:0.05,memory=0.05") < 0.1);
}

TEST_CASE("a step that is skipped, and one of another operation, leave memories as they were") {
  GradientSettings settings = option_settings("topk:0.1,memory=0.1");
  const CodedRun plain = run_model(kMatrixAndBias, {4, 2}, settings, 8);
  settings.non_finite = NonFiniteAction::skip;
  const CodedRun disturbed = run_model(kMatrixAndBias, {4, 2}, settings, 8, test::disturbed_at(0));
  CHECK(disturbed.results == plain.results);
}

TEST_CASE("a rank that lacks the state of a warm-up or a memory is named before anything is sent") {
  for (const char* const text : {"topk:0.02,warmup=50", "topk:0.02,memory=0.01"}) {
    const auto wire = option_settings(text);
    std::vector<std::vector<std::byte>> saved(3);
    auto ranks = communicators_in_process(3, 5s);
    run_ranks(ranks, [&](Communicator& comm) {
      CodedModel model(kMatrixAndBias, comm, wire);
      for (int step = 0; step < 40; ++step)
        model.step(step);
      saved[index_of(comm)] = model.exchange().saved_state();
    });
    const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
      CodedModel model(kMatrixAndBias, comm, wire);
      if (comm.rank() != Rank{1}) model.exchange().load_state(saved[index_of(comm)]);
      model.step(40);
    });
    for (const auto& outcome : outcomes)
      CHECK(mentions(failure_in(outcome),
                     "rank 1 continues after 0 steps of its codec, and rank 0 after 40"));
  }
}

TEST_CASE("gradients of 16 bits have their momentum in float32") {
  auto ranks = communicators_in_process(2, 10s);
  run_ranks(ranks, [&](Communicator& comm) {
    GradientExchange exchange(comm, option_settings("int8,momentum=0.5"));
    std::vector<Float16> small(8);
    exchange.add({.name = "small", .type = ElementType::float16, .shape = {8}},
                 std::as_writable_bytes(std::span(small)));
    CHECK(exchange.wire_type({0}) == ElementType::float32);
    for (const float expected : {1.0F, 1.5F, 1.75F}) {
      small.assign(8, to_float16(1));
      exchange.all_reduce_gradients(ReduceOp::average);
      CHECK(to_float(small[3]) == expected);
    }
  });
}

TEST_CASE("momentum is refused for float64, and like memory for rounds of several steps") {
  auto ranks = communicators_in_process(1, 1s);
  const GradientSettings settings = option_settings("int8,momentum=0.5");
  GradientExchange exchange(ranks[0], settings);
  std::vector<double> wide(10);
  CHECK(mentions(failure_of([&] { exchange.add("wide", std::span(wide)); }),
                 "gradient 'wide' is of float64"));
  CHECK(mentions(
      failure_of([&] { Multistep(ranks[0], multistep_settings("accumulate=4"), settings); }),
      "the momentum in FASTGPU_COMM_WIRE"));
  CHECK(mentions(failure_of([&] {
                   Multistep(ranks[0], multistep_settings("accumulate=4"),
                             option_settings("topk:0.1,memory=0.1"));
                 }),
                 "the memory in FASTGPU_COMM_WIRE"));
  CHECK_NOTHROW(
      Multistep(ranks[0], multistep_settings("accumulate=4"), option_settings("int8,warmup=5")));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
