// Gradients whose thin factors are added (powersgd): what arrives, what is kept for later, and what
// is sent as it is.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "comm/codecs/low_rank.hpp"
#include "comm/fusion/fingerprint.hpp"
#include "comm/gradients/gradient_exchange.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/gradient_steps.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::communicators_in_process;
using test::failure_in;
using test::index_of;
using test::mentions;
using test::outcomes_of_ranks;
using test::run_ranks;

using FlatModel = std::vector<float>;  ///< The numbers of all gradients, one after the other.
using LowRankShape = std::vector<std::uint64_t>;

/// Matrices, of which one is larger than a bucket; and gradients without factors.
const LowRankShape kShapes[] = {{40, 30}, {100}, {17, 5, 9}, {3, 4}, {65, 129}, {}};
const bool kHasFactors[] = {true, false, true, false, true, false};

struct PlacedRanks {
  int ranks = 1;
  int ranks_per_node = 1;
};
constexpr PlacedRanks kPlaced[] = {{1, 1}, {2, 1}, {2, 2}, {3, 1}, {4, 2}, {5, 2}};

GradientSettings low_rank_settings(std::uint32_t thin) {
  GradientSettings settings;
  settings.wire = WireType::encoded;
  settings.codec = {.id = CodecId::power_sgd, .thin = thin};
  settings.small = {1};
  settings.bucket = {8000};
  return settings;
}

std::size_t count_of(const LowRankShape& shape) {
  std::size_t count = 1;
  for (const std::uint64_t length : shape)
    count *= length;
  return count;
}

class MatrixModel {
 public:
  MatrixModel(Communicator& comm, const GradientSettings& settings,
              GradientEvents* events = nullptr)
      : comm_(comm), exchange_(comm, settings, events) {
    for (const LowRankShape& shape : kShapes) {
      values_.emplace_back(count_of(shape));
      exchange_.add({.name = "m" + std::to_string(values_.size()), .shape = shape},
                    std::as_writable_bytes(std::span(values_.back())));
    }
  }

  static FlatModel gradients(int rank, int step) {
    std::mt19937 random(static_cast<unsigned>(rank * 7919 + step * 104'729 + 1));
    std::normal_distribution<float> normal;
    FlatModel all;
    for (const LowRankShape& shape : kShapes)
      for (std::size_t i = 0; i < count_of(shape); ++i)
        all.push_back(normal(random));
    return all;
  }

  void fill(int step) {
    const FlatModel all = gradients(comm_.rank().value, step);
    auto from = all.begin();
    for (FlatModel& each : values_) {
      std::copy_n(from, each.size(), each.begin());
      from += static_cast<std::ptrdiff_t>(each.size());
    }
  }

  StepOutcome step(int number) {
    fill(number);
    return exchange();
  }

  StepOutcome exchange() {
    for (std::size_t i = values_.size(); i > 0; --i)
      exchange_.ready({i - 1});
    return exchange_.wait_step();
  }

  FlatModel joined() const {
    FlatModel all;
    for (const FlatModel& each : values_)
      all.insert(all.end(), each.begin(), each.end());
    return all;
  }

  FlatModel residuals() {
    CodecState state;
    state.load(exchange_.saved_state(), exchange_.table(), comm_.rank());
    FlatModel all;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      FlatModel of(values_[i].size());
      state.add_to({i}, 0, of);
      all.insert(all.end(), of.begin(), of.end());
    }
    return all;
  }

  GradientExchange& gradients() { return exchange_; }
  std::vector<FlatModel>& values() { return values_; }

 private:
  Communicator& comm_;
  std::vector<FlatModel> values_;
  GradientExchange exchange_;
};

/// The results of each step on rank 0, the residuals of all ranks after the last one, and whether
/// all ranks had the same results.
struct LowRankRun {
  std::vector<FlatModel> results;
  std::vector<double> left;
  bool is_equal_everywhere = true;
};

/// Calls more(model, step) before each step.
LowRankRun run_of(const PlacedRanks& placed, const GradientSettings& settings, int steps,
                  const std::function<void(MatrixModel&, int)>& more = {}) {
  auto ranks =
      communicators_in_process(placed.ranks, 20s, SharedMemory::on, 1, placed.ranks_per_node);
  std::vector<std::vector<FlatModel>> results(ranks.size());
  std::vector<FlatModel> residuals(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    MatrixModel model(comm, settings);
    model.gradients().use_operation(ReduceOp::sum);
    for (int step = 0; step < steps; ++step) {
      if (more) more(model, step);
      model.step(step);
      results[index_of(comm)].push_back(model.joined());
    }
    residuals[index_of(comm)] = model.residuals();
  });
  LowRankRun run{.results = results.front(), .left = {}};
  for (const auto& each : results)
    run.is_equal_everywhere &= each == results.front();
  run.left.resize(residuals.front().size());
  for (const FlatModel& rank : residuals)
    for (std::size_t i = 0; i < rank.size(); ++i)
      run.left[i] += static_cast<double>(rank[i]);
  return run;
}

/// Returns the largest difference between the sum of all gradients, and that of results and
/// residuals.
double lost_in(const LowRankRun& run, const PlacedRanks& placed) {
  std::vector<double> rest = run.left;
  for (std::size_t step = 0; step < run.results.size(); ++step) {
    for (std::size_t i = 0; i < rest.size(); ++i)
      rest[i] += static_cast<double>(run.results[step][i]);
    for (int rank = 0; rank < placed.ranks; ++rank) {
      const FlatModel given = MatrixModel::gradients(rank, static_cast<int>(step));
      for (std::size_t i = 0; i < rest.size(); ++i)
        rest[i] -= static_cast<double>(given[i]);
    }
  }
  double most = 0;
  for (const double each : rest)
    most = std::max(most, std::abs(each));
  return most;
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
  for (const PlacedRanks& placed : kPlaced)
    for (const std::uint32_t thin : {1U, 3U, 4U}) {
      CAPTURE(placed.ranks);
      CAPTURE(placed.ranks_per_node);
      CAPTURE(thin);
      const LowRankRun run = run_of(placed, low_rank_settings(thin), 6);
      CHECK(run.is_equal_everywhere);
      CHECK(lost_in(run, placed) < 1e-3);
    }
}

TEST_CASE("the sums are those of a dense power iteration in float64") {
  constexpr std::uint32_t kThin = 3;
  constexpr int kRanks = 3;
  constexpr int kSteps = 5;
  const LowRankRun run = run_of({kRanks, 1}, low_rank_settings(kThin), kSteps);
  std::size_t at = 0;
  for (std::size_t i = 0; i < std::size(kShapes); ++i) {
    const std::size_t count = count_of(kShapes[i]);
    const auto form = low_rank_form(kShapes[i], kThin);
    REQUIRE(form.has_value() == kHasFactors[i]);
    const auto part = [&](const FlatModel& all) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(at);
      return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    if (form) {
      FlatModel right(form->right());
      start_right(*form, right, Fingerprint().add("m" + std::to_string(i + 1)).value());
      DenseReference reference(*form, {right.begin(), right.end()});
      double most = 0;
      for (int step = 0; step < kSteps; ++step) {
        std::vector<std::vector<double>> given;
        for (int rank = 0; rank < kRanks; ++rank)
          given.push_back(part(MatrixModel::gradients(rank, step)));
        const std::vector<double> expected = reference.step(std::move(given));
        const std::vector<double> got = part(run.results[static_cast<std::size_t>(step)]);
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
  const LowRankRun run = run_of({2, 1}, low_rank_settings(4), 2);
  for (int step = 0; step < 2; ++step) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < std::size(kShapes); ++i) {
      bool is_exact = true;
      for (std::size_t k = 0; k < count_of(kShapes[i]); ++k, ++at)
        is_exact &= run.results[static_cast<std::size_t>(step)][at] ==
                    MatrixModel::gradients(0, step)[at] + MatrixModel::gradients(1, step)[at];
      CHECK(is_exact != kHasFactors[i]);
    }
  }
}

TEST_CASE("factors survive other buckets, an operation without a codec, and skipped steps") {
  GradientSettings settings = low_rank_settings(2);
  settings.is_tuned = true;
  const PlacedRanks placed{4, 2};
  const LowRankRun tuned = run_of(placed, settings, Tuner::kMostSteps + 4);
  CHECK(tuned.is_equal_everywhere);
  CHECK(lost_in(tuned, placed) < 1e-2);
  settings = low_rank_settings(2);
  const LowRankRun plain = run_of(placed, settings, 6);
  settings.non_finite = NonFiniteAction::skip;
  const LowRankRun disturbed = run_of(placed, settings, 6, [](MatrixModel& model, int step) {
    if (step == 2) {
      model.gradients().use_operation(ReduceOp::max);
      model.step(100);
      model.gradients().use_operation(ReduceOp::sum);
    }
    if (step != 4) return;
    model.fill(50);
    model.values()[4][17] = std::numeric_limits<float>::quiet_NaN();
    CHECK_FALSE(model.exchange().is_applied);
  });
  CHECK(disturbed.results == plain.results);
}

TEST_CASE("NaN in a matrix is reported with its name, and is forgotten after its step") {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    auto ranks = communicators_in_process(3, 10s);
    std::vector<std::string> failures(ranks.size());
    run_ranks(ranks, [&](Communicator& comm) {
      test::Sentences sentences;
      GradientSettings settings = low_rank_settings(2);
      settings.non_finite = NonFiniteAction::warn;
      MatrixModel model(comm, settings, &sentences);
      model.fill(0);
      if (comm.rank() == Rank{2}) model.values()[4][1234] = bad;
      model.exchange();
      auto& failure = failures[index_of(comm)];
      const std::string what = bad != bad ? "NaN" : "infinity";
      if (sentences.all != std::vector<std::string>{"step 0: gradient 'm5' of rank 2 has " + what +
                                                    " at index 1234"})
        failure = "reports: " + std::to_string(sentences.all.size());
      if (std::isfinite(model.values()[4][1234])) failure = "lost";
      model.step(1);
      for (const float each : model.joined())
        if (!std::isfinite(each)) failure = "remembered";
    });
    CHECK(failures == std::vector<std::string>(ranks.size()));
  }
}

TEST_CASE("a matrix that was 0 for a step has factors again in the next ones") {
  auto ranks = communicators_in_process(2, 10s);
  run_ranks(ranks, [&](Communicator& comm) {
    MatrixModel model(comm, low_rank_settings(2));
    for (FlatModel& each : model.values())
      std::ranges::fill(each, 0.0F);
    model.exchange();
    for (int step = 0; step < 2; ++step) {
      for (FlatModel& each : model.values())
        std::ranges::fill(each, 2.0F);
      model.exchange();
      for (const float each : model.joined())
        CHECK(std::abs(each - 2) < 1e-4F);
    }
  });
}

TEST_CASE("training with factors goes on from a saved state to the last bit") {
  constexpr int kBefore = 3;
  constexpr int kSteps = 6;
  std::vector<std::vector<std::byte>> saved(4);
  std::vector<std::vector<FlatModel>> uninterrupted(4), resumed(4);
  auto ranks = communicators_in_process(4, 10s, SharedMemory::on, 1, 2);
  run_ranks(ranks, [&](Communicator& comm) {
    const std::size_t self = index_of(comm);
    MatrixModel model(comm, low_rank_settings(2));
    for (int step = 0; step < kSteps; ++step) {
      if (step == kBefore) saved[self] = model.gradients().saved_state();
      model.step(step);
      if (step >= kBefore) uninterrupted[self].push_back(model.joined());
    }
  });
  run_ranks(ranks, [&](Communicator& comm) {
    const std::size_t self = index_of(comm);
    MatrixModel model(comm, low_rank_settings(2));
    model.gradients().load_state(saved[self]);
    for (int step = kBefore; step < kSteps; ++step) {
      model.step(step);
      resumed[self].push_back(model.joined());
    }
  });
  CHECK(resumed == uninterrupted);
}

TEST_CASE("factors of another rank, and a state that one rank lacks, leave all with one result") {
  std::vector<std::vector<std::byte>> saved(3);
  std::vector<FlatModel> results(3);
  auto ranks = communicators_in_process(3, 10s);
  run_ranks(ranks, [&](Communicator& comm) {
    MatrixModel model(comm, low_rank_settings(4));
    for (int step = 0; step < 3; ++step)
      model.step(step);
    saved[index_of(comm)] = model.gradients().saved_state();
  });
  run_ranks(ranks, [&](Communicator& comm) {
    MatrixModel model(comm, low_rank_settings(2));
    if (comm.rank() != Rank{1}) model.gradients().load_state(saved[index_of(comm)]);
    model.step(3);
    results[index_of(comm)] = model.joined();
  });
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

TEST_CASE("a matrix keeps its residual and its factor when the set of gradients changes") {
  auto ranks = communicators_in_process(2, 10s);
  run_ranks(ranks, [&](Communicator& comm) {
    FlatModel first(1200);
    FlatModel second(1200);
    const auto fill = [&](FlatModel& values, int step) {
      const FlatModel all = MatrixModel::gradients(comm.rank().value, step);
      std::copy_n(all.begin(), values.size(), values.begin());
    };
    const auto add = [](GradientExchange& exchange, const std::string& name, FlatModel& values) {
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
    FlatModel again(1200);
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
  auto ranks = communicators_in_process(2, 10s);
  run_ranks(ranks, [&](Communicator& comm) {
    GradientExchange exchange(comm, low_rank_settings(1));
    std::vector<Float16> half(1024, to_float16(2));
    exchange.add({.name = "half", .type = ElementType::float16, .shape = {32, 32}},
                 std::as_writable_bytes(std::span(half)));
    const GradientId view = exchange.add({.name = "view", .shape = {32, 40}}, {});
    CHECK(exchange.wire_type({0}) == ElementType::float32);
    for (int step = 0; step < 3; ++step) {
      const auto bytes = exchange.view(view);
      const FlatModel mine(1280, static_cast<float>(comm.rank().value));
      std::memcpy(bytes.data(), mine.data(), bytes.size());
      half.assign(half.size(), to_float16(2));
      exchange.ready({0});
      exchange.ready(view);
      exchange.wait_step();
      float got = 0;
      std::memcpy(&got, exchange.view(view).data(), sizeof(got));
      CHECK(got == doctest::Approx(0.5));
      CHECK(to_float(half[7]) == doctest::Approx(2).epsilon(1e-3));
    }
  });
}

TEST_CASE("factors are few bytes, also of a matrix that is larger than a bucket") {
  auto ranks = communicators_in_process(2, 10s);
  run_ranks(ranks, [&](Communicator& comm) {
    FlatModel values(512 * 512, 1);
    GradientExchange exchange(comm, low_rank_settings(4));
    exchange.add({.name = "large", .shape = {512, 512}}, std::as_writable_bytes(std::span(values)));
    exchange.all_reduce_gradients(ReduceOp::average);
    CHECK(exchange.buckets() == 1);
    CHECK(exchange.counters().bucket_bytes == 2 * 512 * 4 * sizeof(float));
    CHECK(std::ranges::all_of(values, [](float each) { return std::abs(each - 1) < 1e-5F; }));
  });
}

TEST_CASE("ranks with factors of another width are named before anything is sent") {
  auto ranks = communicators_in_process(2, 5s);
  const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
    MatrixModel model(comm, low_rank_settings(comm.rank() == Rank{1} ? 2 : 4));
    model.step(0);
  });
  for (const auto& outcome : outcomes)
    CHECK(mentions(failure_in(outcome), "rank 1 has another FASTGPU_COMM_WIRE than rank 0"));
}

TEST_CASE("a rank that goes between steps with factors is named by those that wait for it") {
  auto own = test::able_to_leave(communicators_in_process(3, 5s, SharedMemory::off));
  const auto outcomes = outcomes_of_ranks(own, [&](std::optional<Communicator>& comm) {
    {
      MatrixModel model(*comm, low_rank_settings(2));
      const int steps = comm->rank() == Rank{1} ? 3 : 1000;
      for (int step = 0; step < steps; ++step)
        model.step(step);
    }
    comm.reset();
  });
  CHECK(mentions(failure_in(outcomes[0]), "rank 1"));
  CHECK(mentions(failure_in(outcomes[2]), "rank 1"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
