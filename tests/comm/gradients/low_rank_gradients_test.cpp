// Gradients whose thin factors are added (powersgd): what arrives, what is kept for later, and what
// is sent as it is.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "comm/codecs/low_rank.hpp"
#include "comm/fusion/fingerprint.hpp"
#include "comm/gradients/gradient_exchange.hpp"
#include "support/coded_model.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::CodedModel;
using test::CodedRun;
using test::communicators_in_process;
using test::count_of;
using test::index_of;
using test::Numbers;
using test::RanksOnNodes;
using test::run_model;
using test::run_ranks;

Numbers matrix_numbers(int rank, int step);

/// Matrices, of which one is larger than a bucket; and gradients without factors.
const test::ModelGradients kMatrices{.shapes = {{40, 30}, {100}, {17, 5, 9}, {3, 4}, {65, 129}, {}},
                                     .numbers = matrix_numbers};
const bool kHasFactors[] = {true, false, true, false, true, false};

Numbers matrix_numbers(int rank, int step) {
  std::mt19937 random(static_cast<unsigned>(rank * 7919 + step * 104'729 + 1));
  std::normal_distribution<float> normal;
  Numbers all(count_of(kMatrices));
  for (float& each : all)
    each = normal(random);
  return all;
}

constexpr RanksOnNodes kPlaced[] = {{1, 1}, {2, 1}, {2, 2}, {3, 1}, {4, 2}, {5, 2}};

GradientSettings low_rank_settings(std::uint32_t thin) {
  GradientSettings settings;
  settings.wire = WireType::encoded;
  settings.codec = {.id = CodecId::power_sgd, .thin = thin};
  settings.small = {1};
  settings.bucket = {8000};
  return settings;
}

/// One matrix in float64: what the ranks' exchange should do.
class DenseReference {
 public:
  DenseReference(LowRankForm form, std::vector<double> right)
      : form_(form), right_(std::move(right)) {}

  /// Returns the sum for the matrices of all ranks, to which residuals are added.
  std::vector<double> step(std::vector<std::vector<double>> matrices) {
    rests_.resize(matrices.size(), std::vector<double>(form_.elements()));
    for (std::size_t rank = 0; rank < matrices.size(); ++rank)
      for (std::size_t i = 0; i < form_.elements(); ++i)
        matrices[rank][i] += rests_[rank][i];
    std::vector<double> left(form_.left());
    for (const auto& matrix : matrices)
      each([&](std::size_t row, std::size_t column, std::size_t w) {
        left[row * form_.thin + w] +=
            matrix[row * form_.columns + column] * right_[column * form_.thin + w];
      });
    orthogonalise(left);
    std::vector<double> sum(form_.elements());
    std::vector<double> next(form_.right());
    for (std::size_t rank = 0; rank < matrices.size(); ++rank) {
      std::vector<double> right(form_.right());
      each([&](std::size_t row, std::size_t column, std::size_t w) {
        right[column * form_.thin + w] +=
            matrices[rank][row * form_.columns + column] * left[row * form_.thin + w];
      });
      rests_[rank] = matrices[rank];
      each([&](std::size_t row, std::size_t column, std::size_t w) {
        const double part = left[row * form_.thin + w] * right[column * form_.thin + w];
        rests_[rank][row * form_.columns + column] -= part;
        sum[row * form_.columns + column] += part;
      });
      for (std::size_t i = 0; i < next.size(); ++i)
        next[i] += right[i];
    }
    right_ = next;
    return sum;
  }

 private:
  template <class Action>
  void each(Action action) const {
    for (std::size_t row = 0; row < form_.rows; ++row)
      for (std::size_t column = 0; column < form_.columns; ++column)
        for (std::size_t w = 0; w < form_.thin; ++w)
          action(row, column, w);
  }

  void orthogonalise(std::vector<double>& left) const {
    const auto product = [&](std::size_t one, std::size_t other) {
      double sum = 0;
      for (std::size_t row = 0; row < form_.rows; ++row)
        sum += left[row * form_.thin + one] * left[row * form_.thin + other];
      return sum;
    };
    for (std::size_t w = 0; w < form_.thin; ++w) {
      for (std::size_t other = 0; other < w; ++other) {
        const double along = product(w, other);
        for (std::size_t row = 0; row < form_.rows; ++row)
          left[row * form_.thin + w] -= along * left[row * form_.thin + other];
      }
      const double length = std::sqrt(product(w, w));
      for (std::size_t row = 0; row < form_.rows; ++row)
        left[row * form_.thin + w] /= length;
    }
  }

  LowRankForm form_;
  std::vector<double> right_;
  std::vector<std::vector<double>> rests_;
};

TEST_SUITE_BEGIN("comm/gradients/low_rank");

TEST_CASE("factors lose nothing: results and residuals are what was given, on all ranks alike") {
  for (const RanksOnNodes& placed : kPlaced)
    for (const std::uint32_t thin : {1U, 3U, 4U}) {
      CAPTURE(placed.ranks);
      CAPTURE(placed.ranks_per_node);
      CAPTURE(thin);
      const CodedRun run = run_model(kMatrices, placed, low_rank_settings(thin), 6);
      CHECK(run.is_equal_everywhere());
      CHECK(run.lost(kMatrices) < 1e-3);
    }
}

TEST_CASE("the sums are those of a dense power iteration in float64") {
  constexpr std::uint32_t kThin = 3;
  constexpr int kRanks = 3;
  constexpr int kSteps = 5;
  const CodedRun run = run_model(kMatrices, {kRanks, 1}, low_rank_settings(kThin), kSteps);
  std::size_t at = 0;
  for (std::size_t i = 0; i < kMatrices.shapes.size(); ++i) {
    const std::size_t count = count_of(kMatrices.shapes[i]);
    const auto form = low_rank_form(kMatrices.shapes[i], kThin);
    REQUIRE(form.has_value() == kHasFactors[i]);
    const auto part = [&](const Numbers& all) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at);
      return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    if (form) {
      Numbers right(form->right());
      start_right(*form, right, Fingerprint().add("g" + std::to_string(i)).value());
      DenseReference reference(*form, {right.begin(), right.end()});
      double most = 0;
      for (int step = 0; step < kSteps; ++step) {
        std::vector<std::vector<double>> given;
        for (int rank = 0; rank < kRanks; ++rank)
          given.push_back(part(matrix_numbers(rank, step)));
        const std::vector<double> expected = reference.step(std::move(given));
        const std::vector<double> got = part(run.of_rank_0()[static_cast<std::size_t>(step)]);
        for (std::size_t k = 0; k < count; ++k)
          most = std::max(most, std::abs(expected[k] - got[k]));
      }
      CAPTURE(i);
      CHECK(most < 2e-3);  // Of numbers up to about 10.
    }
    at += count;
  }
}

TEST_CASE("vectors and small matrices are summed as they are") {
  const CodedRun run = run_model(kMatrices, {2, 1}, low_rank_settings(4), 2);
  for (int step = 0; step < 2; ++step) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < kMatrices.shapes.size(); ++i) {
      bool is_exact = true;
      for (std::size_t k = 0; k < count_of(kMatrices.shapes[i]); ++k, ++at)
        is_exact &= run.of_rank_0()[static_cast<std::size_t>(step)][at] ==
                    matrix_numbers(0, step)[at] + matrix_numbers(1, step)[at];
      CHECK(is_exact != kHasFactors[i]);
    }
  }
}

TEST_CASE("factors survive other buckets, an operation without a codec, and skipped steps") {
  GradientSettings settings = low_rank_settings(2);
  settings.is_tuned = true;
  const RanksOnNodes placed{4, 2};
  const CodedRun tuned = run_model(kMatrices, placed, settings, Tuner::kMostSteps + 4);
  CHECK(tuned.is_equal_everywhere());
  CHECK(tuned.lost(kMatrices) < 1e-2);
  settings = low_rank_settings(2);
  const CodedRun plain = run_model(kMatrices, placed, settings, 6);
  settings.non_finite = NonFiniteAction::skip;
  const CodedRun disturbed = run_model(kMatrices, placed, settings, 6, test::disturbed_at(4));
  CHECK(disturbed.results == plain.results);
}

TEST_CASE("NaN in a matrix is reported with its name, and is forgotten after its step") {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    test::check_non_finite_is_named(kMatrices, low_rank_settings(2), 4, bad);
}

TEST_CASE("a matrix that was 0 for a step has factors again in the next ones") {
  auto ranks = communicators_in_process(2, 10s);
  run_ranks(ranks, [&](Communicator& comm) {
    CodedModel model(kMatrices, comm, low_rank_settings(2));
    for (Numbers& each : model.values())
      std::ranges::fill(each, 0.0F);
    model.exchange_now();
    for (int step = 0; step < 2; ++step) {
      for (Numbers& each : model.values())
        std::ranges::fill(each, 2.0F);
      model.exchange_now();
      for (const float each : model.joined())
        CHECK(std::abs(each - 2) < 1e-4F);
    }
  });
}

TEST_CASE("training with factors goes on from a saved state to the last bit") {
  CHECK(test::resumes_exactly(kMatrices, low_rank_settings(2), 3, 6));
}

TEST_CASE("factors of another rank, and a state that one rank lacks, leave all with one result") {
  std::vector<std::vector<std::byte>> saved(3);
  std::vector<Numbers> results(3);
  auto ranks = communicators_in_process(3, 10s);
  run_ranks(ranks, [&](Communicator& comm) {
    CodedModel model(kMatrices, comm, low_rank_settings(4));
    for (int step = 0; step < 3; ++step)
      model.step(step);
    saved[index_of(comm)] = model.exchange().saved_state();
  });
  run_ranks(ranks, [&](Communicator& comm) {
    CodedModel model(kMatrices, comm, low_rank_settings(2));
    if (comm.rank() != Rank{1}) model.exchange().load_state(saved[index_of(comm)]);
    model.step(3);
    results[index_of(comm)] = model.joined();
  });
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

TEST_CASE("a matrix keeps its residual and its factor when the set of gradients changes") {
  auto ranks = communicators_in_process(2, 10s);
  run_ranks(ranks, [&](Communicator& comm) {
    Numbers first(1200);
    Numbers second(1200);
    const auto fill = [&](Numbers& values, int step) {
      const Numbers all = matrix_numbers(comm.rank().value, step);
      std::copy_n(all.begin(), values.size(), values.begin());
    };
    const auto add = [](GradientExchange& exchange, const std::string& name, Numbers& values) {
      return exchange.add({.name = name, .shape = {40, 30}},
                          std::as_writable_bytes(std::span(values)));
    };
    GradientExchange before(comm, low_rank_settings(2));
    add(before, "kept", first);
    fill(first, 0);
    before.all_reduce_gradients(ReduceOp::sum);
    const auto saved = before.saved_state();
    fill(first, 1);
    before.all_reduce_gradients(ReduceOp::sum);
    Numbers again(1200);
    GradientExchange after(comm, low_rank_settings(2));
    add(after, "new", second);
    add(after, "kept", again);
    after.load_state(saved);
    fill(again, 1);
    after.all_reduce_gradients(ReduceOp::sum);
    CHECK(again == first);
  });
}

TEST_CASE("views and gradients of 16 bits have factors of float32") {
  test::check_float32_on_wire(low_rank_settings(1), {32, 32}, {32, 40}, 2e-3F);
}

TEST_CASE("factors are few bytes, also of a matrix that is larger than a bucket") {
  auto ranks = communicators_in_process(2, 10s);
  run_ranks(ranks, [&](Communicator& comm) {
    Numbers values(512 * 512, 1);
    GradientExchange exchange(comm, low_rank_settings(4));
    exchange.add({.name = "large", .shape = {512, 512}}, std::as_writable_bytes(std::span(values)));
    exchange.all_reduce_gradients(ReduceOp::average);
    CHECK(exchange.buckets() == 1);
    CHECK(exchange.counters().bucket_bytes == 2 * 512 * 4 * sizeof(float));
    CHECK(std::ranges::all_of(values, [](float each) { return std::abs(each - 1) < 1e-5F; }));
  });
}

TEST_CASE("ranks with factors of another width are named before anything is sent") {
  test::check_other_codec_is_named(kMatrices, low_rank_settings(4), low_rank_settings(2));
}

TEST_CASE("a rank that goes between steps with factors is named by those that wait for it") {
  test::check_leaver_between_steps_is_named(kMatrices, low_rank_settings(2));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
