// Gradients that a codec encodes on their way: what arrives, what is kept for later, and what is
// refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "comm/gradients/encoded_sum.hpp"
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
using SavedState = std::vector<std::byte>;
using Numbers = std::vector<float>;

const CodecChoice kInt8{CodecId::int8};
const CodecChoice kOneBit{CodecId::one_bit};
const CodecChoice kTopK{CodecId::top_k, 0.05};

/// The ranks of a job and their nodes.
struct RanksOnNodes {
  int ranks = 1;
  int ranks_per_node = 1;
};
constexpr RanksOnNodes kRanksOnNodes[] = {{1, 1}, {2, 1}, {2, 2}, {3, 1},
                                          {4, 2}, {5, 2}, {6, 2}, {6, 3}};

GradientSettings codec_settings(const CodecChoice& codec) {
  GradientSettings settings;
  settings.wire = WireType::encoded;
  settings.codec = codec;
  settings.small = {1};
  settings.bucket = {4000};
  settings.streams = 2;
  return settings;
}

/// The gradients of a small model on one rank: lengths that no vector, node or block divides.
class EncodedModel {
 public:
  static constexpr std::size_t kLengths[] = {1, 700, 3, 2500, 1024, 33};

  EncodedModel(Communicator& comm, const GradientSettings& settings)
      : comm_(comm), exchange_(comm, settings) {
    for (std::size_t i = 0; i < std::size(kLengths); ++i) {
      values_.emplace_back(kLengths[i]);
      exchange_.add("g" + std::to_string(i), std::span(values_.back()));
    }
  }

  static float number(int rank, std::size_t gradient, std::size_t index, int step) {
    std::mt19937 random(static_cast<unsigned>(rank * 7919 + static_cast<int>(gradient) * 104'729 +
                                              static_cast<int>(index) * 31 + step * 1'299'709));
    return static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 700.0F;
  }

  void fill(int step) {
    for (std::size_t i = 0; i < values_.size(); ++i)
      for (std::size_t at = 0; at < values_[i].size(); ++at)
        values_[i][at] = number(comm_.rank().value, i, at, step);
  }

  StepOutcome step(int number) {
    fill(number);
    for (std::size_t i = values_.size(); i > 0; --i)
      exchange_.ready({i - 1});
    return exchange_.wait_step();
  }

  GradientExchange& exchange() { return exchange_; }
  std::vector<Numbers>& values() { return values_; }

  /// The residuals of this rank, one gradient after the other.
  Numbers residuals() {
    CodecState state;
    state.load(exchange_.saved_state(), exchange_.table(), comm_.rank());
    Numbers all;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      Numbers of(values_[i].size());
      state.add_to({i}, 0, of);
      all.insert(all.end(), of.begin(), of.end());
    }
    return all;
  }

  Numbers joined() const {
    Numbers all;
    for (const Numbers& each : values_)
      all.insert(all.end(), each.begin(), each.end());
    return all;
  }

 private:
  Communicator& comm_;
  std::vector<Numbers> values_;
  GradientExchange exchange_;
};

/// What was given, what has arrived and what is left, over all steps and ranks.
struct GradientAccount {
  std::vector<double> given;
  std::vector<double> arrived;
  std::vector<double> left;
  bool is_equal_everywhere = true;

  double largest_difference() const {
    double most = 0;
    for (std::size_t i = 0; i < given.size(); ++i)
      most = std::max(most, std::abs(given[i] - arrived[i] - left[i]));
    return most;
  }
};

std::size_t model_elements() {
  std::size_t sum = 0;
  for (const std::size_t length : EncodedModel::kLengths)
    sum += length;
  return sum;
}

/// Calls more(model, step) before each step.
GradientAccount account_of(const RanksOnNodes& cluster, const GradientSettings& settings, int steps,
                           const std::function<void(EncodedModel&, int)>& more = {}) {
  auto ranks =
      communicators_in_process(cluster.ranks, 20s, SharedMemory::on, 1, cluster.ranks_per_node);
  std::vector<std::vector<Numbers>> results(ranks.size());
  std::vector<Numbers> residuals(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    EncodedModel model(comm, settings);
    model.exchange().use_operation(ReduceOp::sum);
    for (int step = 0; step < steps; ++step) {
      if (more) more(model, step);
      model.step(step);
      results[index_of(comm)].push_back(model.joined());
    }
    residuals[index_of(comm)] = model.residuals();
  });
  GradientAccount account{std::vector<double>(model_elements()),
                          std::vector<double>(model_elements()),
                          std::vector<double>(model_elements())};
  for (int step = 0; step < steps; ++step) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < std::size(EncodedModel::kLengths); ++i)
      for (std::size_t index = 0; index < EncodedModel::kLengths[i]; ++index, ++at)
        for (int rank = 0; rank < cluster.ranks; ++rank)
          account.given[at] += static_cast<double>(EncodedModel::number(rank, i, index, step));
    const Numbers& first = results[0][static_cast<std::size_t>(step)];
    for (const auto& rank : results)
      account.is_equal_everywhere &= rank[static_cast<std::size_t>(step)] == first;
    for (std::size_t i = 0; i < first.size(); ++i)
      account.arrived[i] += static_cast<double>(first[i]);
  }
  for (const Numbers& rank : residuals)
    for (std::size_t i = 0; i < rank.size(); ++i)
      account.left[i] += static_cast<double>(rank[i]);
  return account;
}

TEST_SUITE_BEGIN("comm/gradients/encoded");

TEST_CASE("what has arrived and what is left are what was given, on all ranks alike") {
  for (const RanksOnNodes& cluster : kRanksOnNodes)
    for (const CodecChoice& codec : {kOneBit, kTopK}) {
      const GradientAccount account = account_of(cluster, codec_settings(codec), 8);
      CAPTURE(cluster.ranks);
      CAPTURE(cluster.ranks_per_node);
      CAPTURE(entry_of(codec.id).name);
      CHECK(account.is_equal_everywhere);
      CHECK(account.largest_difference() < 2e-3);
    }
}

TEST_CASE("int8 is a sum with a bounded error, equal on all ranks") {
  for (const RanksOnNodes& cluster : kRanksOnNodes) {
    const GradientAccount account = account_of(cluster, codec_settings(kInt8), 1);
    CAPTURE(cluster.ranks);
    CHECK(account.is_equal_everywhere);
    // One step of each rank's block, and one of the sum's: numbers are at most 1.43 each.
    const double step = 1.43 * cluster.ranks / 127;
    CHECK(account.largest_difference() < (cluster.ranks == 1 ? 1e-9 : 2.05 * step));
  }
}

TEST_CASE("residuals survive other buckets, an operation that is not encoded, and skipped steps") {
  GradientSettings settings = codec_settings(kOneBit);
  settings.is_tuned = true;
  for (const RanksOnNodes& cluster : {RanksOnNodes{4, 2}, {3, 1}}) {
    const GradientAccount tuned = account_of(cluster, settings, Tuner::kMostSteps + 4);
    CHECK(tuned.is_equal_everywhere);
    CHECK(tuned.largest_difference() < 1e-2);
  }
  settings = codec_settings(kTopK);
  settings.non_finite = NonFiniteAction::skip;
  const GradientAccount account =
      account_of({4, 2}, settings, 6, [](EncodedModel& model, int step) {
        if (step == 2) {  // The largest are exact.
          model.exchange().use_operation(ReduceOp::max);
          model.step(100);
          model.exchange().use_operation(ReduceOp::sum);
        }
        if (step != 4) return;
        model.fill(step);
        model.values()[3][17] = std::numeric_limits<float>::quiet_NaN();
        for (std::size_t i = 0; i < model.values().size(); ++i)
          model.exchange().ready({i});
        model.exchange().wait_step();
      });
  CHECK(account.is_equal_everywhere);
  CHECK(account.largest_difference() < 2e-3);
}

TEST_CASE("an average is divided by the ranks, and repeated averages come close") {
  for (const CodecChoice& codec : {kInt8, kOneBit, kTopK}) {
    constexpr int kSteps = 400;
    auto ranks = communicators_in_process(4, 20s, SharedMemory::on, 1, 2);
    std::vector<double> worst(ranks.size());
    run_ranks(ranks, [&](Communicator& comm) {
      GradientSettings settings = codec_settings(codec);
      GradientExchange exchange(comm, settings);
      Numbers values(600);
      exchange.add("g", std::span(values));
      std::vector<double> sums(values.size());
      for (int step = 0; step < kSteps; ++step) {
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = static_cast<float>(comm.rank().value) + static_cast<float>(i % 7);
        exchange.all_reduce_gradients(ReduceOp::average);
        for (std::size_t i = 0; i < values.size(); ++i)
          sums[i] += static_cast<double>(values[i]);
      }
      for (std::size_t i = 0; i < values.size(); ++i)
        worst[index_of(comm)] = std::max(
            worst[index_of(comm)], std::abs(sums[i] / kSteps - 1.5 - static_cast<double>(i % 7)));
    });
    CAPTURE(entry_of(codec.id).name);
    for (const double each : worst)
      CHECK(each < 1);
  }
}

TEST_CASE("gradients of 16 bits and views are encoded as float32") {
  auto ranks = communicators_in_process(2, 10s);
  std::vector<std::string> failures(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    GradientExchange exchange(comm, codec_settings(kInt8));
    std::vector<Float16> half(300, to_float16(2));
    exchange.add({.name = "half", .type = ElementType::float16, .shape = {300}},
                 std::as_writable_bytes(std::span(half)));
    const GradientId view = exchange.add({.name = "view", .shape = {500}}, {});
    auto& failure = failures[index_of(comm)];
    if (exchange.wire_type({0}) != ElementType::float32) failure = "type";
    for (int step = 0; step < 3; ++step) {
      const auto bytes = exchange.view(view);
      const Numbers mine(500, static_cast<float>(comm.rank().value));
      std::memcpy(bytes.data(), mine.data(), bytes.size());
      half.assign(300, to_float16(2));
      exchange.ready({0});
      exchange.ready(view);
      exchange.wait_step();
      float got = 0;
      std::memcpy(&got, exchange.view(view).data(), sizeof(got));
      if (std::abs(got - 0.5F) > 1e-5F) failure = "view " + std::to_string(got);
      if (std::abs(to_float(half[7]) - 2) > 1e-2F) failure = "half";
    }
  });
  CHECK(failures == std::vector<std::string>(ranks.size()));
}

TEST_CASE("small, named and other gradients travel as they are") {
  auto ranks = communicators_in_process(3, 10s);
  std::vector<std::string> failures(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    GradientSettings settings = codec_settings(kOneBit);
    settings.small = {400};
    settings.keep_float32 = {"*norm*"};
    GradientExchange exchange(comm, settings);
    Numbers small(99), named(500), encoded(500);
    std::vector<double> exact(500);
    exchange.add("small", std::span(small));
    exchange.add("a.norm.weight", std::span(named));
    exchange.add("encoded", std::span(encoded));
    exchange.add("exact", std::span(exact));
    for (Numbers* values : {&small, &named, &encoded})
      for (std::size_t i = 0; i < values->size(); ++i)
        (*values)[i] = static_cast<float>(i);
    exact.assign(500, 1.25);
    exchange.all_reduce_gradients(ReduceOp::sum);
    auto& failure = failures[index_of(comm)];
    for (const Numbers* values : {&small, &named})
      for (std::size_t i = 0; i < values->size(); ++i)
        if ((*values)[i] != static_cast<float>(3 * i)) failure = "exact float32";
    if (exact[3] != 3.75) failure = "float64";
    if (encoded[3] == 9) failure = "not encoded";
  });
  CHECK(failures == std::vector<std::string>(ranks.size()));
}

TEST_CASE("NaN in a gradient is reported with its name, rank and index, and reaches all ranks") {
  for (const CodecChoice& codec : {kInt8, kOneBit, kTopK}) {
    auto ranks = communicators_in_process(4, 10s, SharedMemory::on, 1, 2);
    std::vector<std::string> failures(ranks.size());
    run_ranks(ranks, [&](Communicator& comm) {
      test::Sentences sentences;
      GradientSettings settings = codec_settings(codec);
      settings.non_finite = NonFiniteAction::warn;
      GradientExchange exchange(comm, settings, &sentences);
      Numbers values(3000, 1);
      exchange.add("fc.weight", std::span(values));
      auto& failure = failures[index_of(comm)];
      if (comm.rank() == Rank{2}) values[1234] = std::numeric_limits<float>::infinity();
      exchange.all_reduce_gradients(ReduceOp::sum);
      if (sentences.all != std::vector<std::string>{"step 0: gradient 'fc.weight' of rank 2 has "
                                                    "infinity at index 1234"})
        failure = "said " + std::to_string(sentences.all.size());
      if (std::isfinite(values[1234])) failure = "lost";
      values.assign(values.size(), 1);
      exchange.all_reduce_gradients(ReduceOp::sum);
      if (!std::ranges::all_of(values, [](float each) { return std::isfinite(each); }))
        failure = "remembered";
    });
    CHECK(failures == std::vector<std::string>(ranks.size()));
  }
}

TEST_CASE("what goes on from a saved state goes on as it would have, to the last bit") {
  for (const CodecChoice& codec : {kInt8, kOneBit, kTopK}) {
    constexpr int kBefore = 3;
    constexpr int kSteps = 6;
    std::vector<SavedState> saved(4);
    std::vector<std::vector<Numbers>> uninterrupted(4), resumed(4);
    auto ranks = communicators_in_process(4, 10s, SharedMemory::on, 1, 2);
    run_ranks(ranks, [&](Communicator& comm) {
      const std::size_t self = index_of(comm);
      EncodedModel model(comm, codec_settings(codec));
      for (int step = 0; step < kSteps; ++step) {
        if (step == kBefore) saved[self] = model.exchange().saved_state();
        model.step(step);
        if (step >= kBefore) uninterrupted[self].push_back(model.joined());
      }
    });
    run_ranks(ranks, [&](Communicator& comm) {
      const std::size_t self = index_of(comm);
      EncodedModel model(comm, codec_settings(codec));
      model.exchange().load_state(saved[self]);
      for (int step = kBefore; step < kSteps; ++step) {
        model.step(step);
        resumed[self].push_back(model.joined());
      }
    });
    CAPTURE(entry_of(codec.id).name);
    CHECK(resumed == uninterrupted);
  }
}

TEST_CASE("codes are few bytes, and the counters say how many") {
  const auto bytes_with = [](const GradientSettings& settings) {
    auto ranks = communicators_in_process(4, 10s, SharedMemory::on, 1, 2);
    std::uint64_t bytes = 0;
    run_ranks(ranks, [&](Communicator& comm) {
      GradientExchange exchange(comm, settings);
      Numbers values(100'000, 1);
      exchange.add("g", std::span(values));
      exchange.all_reduce_gradients(ReduceOp::average);
      if (comm.rank() == Rank{0}) bytes = exchange.counters().bucket_bytes;
    });
    return static_cast<double>(bytes) / 400'000;
  };
  const auto part = [&](const CodecChoice& codec) {
    GradientSettings settings = codec_settings(codec);
    settings.bucket = {1 << 20};
    return bytes_with(settings);
  };
  CHECK(bytes_with({}) == doctest::Approx(1));
  CHECK(part(kInt8) < 0.26);
  CHECK(part(kOneBit) < 0.035);
  CHECK(part({CodecId::top_k, 0.01}) < 0.0155);
}

/// A codec whose encoder writes what no decoder accepts.
class Liar final : public Codec {
 public:
  std::size_t encoded_bytes(std::size_t count) const noexcept override {
    return honest_->encoded_bytes(count);
  }
  void encode(std::span<std::byte> code, std::span<const float>, std::uint64_t) const override {
    std::ranges::fill(code, std::byte{0xff});
  }
  void add(std::span<float> sum, std::span<const std::byte> code, float factor) const override {
    honest_->add(sum, code, factor);
  }

 private:
  std::unique_ptr<const Codec> honest_ = make_codec(kTopK);
};

TEST_CASE("a rank that sends what cannot be decoded is named by all ranks") {
  for (const RanksOnNodes& cluster : {RanksOnNodes{3, 1}, {4, 2}}) {
    auto ranks =
        communicators_in_process(cluster.ranks, 10s, SharedMemory::on, 1, cluster.ranks_per_node);
    const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
      const Liar liar;
      const auto honest = make_codec(kTopK);
      ReductionLevels reduction = reduction_levels_of(comm);
      const CodeLevels levels = code_levels_of(comm, reduction);
      Numbers numbers(1600, 1);
      const Bucket bucket{.bytes = 6400, .pieces = {{{0}, 0, 1600, 0}}};
      const bool lies = comm.rank() == Rank{1};
      EncodedSum sum({lies ? &liar : honest.get(), false, false}, levels, bucket, numbers);
      sum.begin(ReduceOp::sum, 0);
      sum.reduce_in_node();
      sum.reduce_across_nodes();
      sum.broadcast_in_node();
      sum.wait();
      comm.barrier();
    });
    for (const auto& outcome : outcomes) {
      const Error e = failure_in(outcome);
      CHECK(mentions(e, "rank 1 has sent: an invalid code of the largest numbers"));
    }
  }
}

TEST_CASE("ranks with another codec are named before anything is sent") {
  auto ranks = communicators_in_process(3, 5s);
  const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
    Numbers values(5000);
    CodecChoice codec = kTopK;
    if (comm.rank() == Rank{2}) codec.part = 0.02;
    GradientExchange exchange(comm, codec_settings(codec));
    exchange.add("a", std::span(values));
    exchange.all_reduce_gradients(ReduceOp::average);
  });
  for (const auto& outcome : outcomes)
    CHECK(mentions(failure_in(outcome), "rank 2 has another FASTGPU_COMM_WIRE than rank 0"));
}

TEST_CASE("a state is saved and loaded between steps, not within one") {
  auto ranks = communicators_in_process(1, 1s);
  Numbers values(5000);
  GradientExchange exchange(ranks[0], codec_settings(kOneBit));
  exchange.add("a", std::span(values));
  const SavedState saved = exchange.saved_state();
  exchange.ready({0});
  CHECK(test::failure_of([&] { exchange.saved_state(); }).kind() == ErrorKind::usage);
  CHECK(test::failure_of([&] { exchange.load_state(saved); }).kind() == ErrorKind::usage);
  exchange.wait_step();
  CHECK_NOTHROW(exchange.load_state(saved));
}

TEST_CASE("a rank that goes between steps with codes is named by those that wait for it") {
  for (const CodecChoice& codec : {kInt8, kOneBit, kTopK}) {
    auto own = test::able_to_leave(communicators_in_process(3, 5s, SharedMemory::off));
    const auto outcomes = outcomes_of_ranks(own, [&](std::optional<Communicator>& comm) {
      {
        EncodedModel model(*comm, codec_settings(codec));
        const int steps = comm->rank() == Rank{1} ? 3 : 1000;
        for (int step = 0; step < steps; ++step)
          model.step(step);
      }
      comm.reset();
    });
    CHECK(mentions(failure_in(outcomes[0]), "rank 1"));
    CHECK(mentions(failure_in(outcomes[2]), "rank 1"));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
