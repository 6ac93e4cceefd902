// Gradients that a codec encodes on their way: what arrives, what is kept for later, and what is
// refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "comm/gradients/encoded_sum.hpp"
#include "comm/gradients/gradient_exchange.hpp"
#include "support/coded_model.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::CodedRun;
using test::communicators_in_process;
using test::failure_in;
using test::index_of;
using test::mentions;
using test::Numbers;
using test::outcomes_of_ranks;
using test::RanksOnNodes;
using test::run_model;
using test::run_ranks;

const CodecChoice kInt8{CodecId::int8};
const CodecChoice kOneBit{CodecId::one_bit};
const CodecChoice kTopK{CodecId::top_k, 0.05};

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

Numbers coarse_numbers(int rank, int step);

/// A small model: lengths that no vector, node or block divides.
const test::ModelGradients kSmallModel{.shapes = {{1}, {700}, {3}, {2500}, {1024}, {33}},
                                       .numbers = coarse_numbers};

/// Returns multiples of 1/700 up to 1.43.
Numbers coarse_numbers(int rank, int step) {
  std::mt19937 random(static_cast<unsigned>(rank * 7919 + step * 1'299'709));
  Numbers all(test::count_of(kSmallModel));
  for (float& each : all)
    each = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 700.0F;
  return all;
}

TEST_SUITE_BEGIN("comm/gradients/encoded");

TEST_CASE("what has arrived and what is left are what was given, on all ranks alike") {
  for (const RanksOnNodes& cluster : kRanksOnNodes)
    for (const CodecChoice& codec : {kOneBit, kTopK}) {
      const CodedRun run = run_model(kSmallModel, cluster, codec_settings(codec), 8);
      CAPTURE(cluster.ranks);
      CAPTURE(cluster.ranks_per_node);
      CAPTURE(entry_of(codec.id).name);
      CHECK(run.is_equal_everywhere());
      CHECK(run.lost(kSmallModel) < 2e-3);
    }
}

TEST_CASE("int8 is a sum with a bounded error, equal on all ranks") {
  for (const RanksOnNodes& cluster : kRanksOnNodes) {
    const CodedRun run = run_model(kSmallModel, cluster, codec_settings(kInt8), 1);
    CAPTURE(cluster.ranks);
    CHECK(run.is_equal_everywhere());
    // One step of each rank's block, and one of the sum's: numbers are at most 1.43 each.
    const double step = 1.43 * cluster.ranks / 127;
    CHECK(run.lost(kSmallModel) < (cluster.ranks == 1 ? 1e-9 : 2.05 * step));
  }
}

TEST_CASE("residuals survive other buckets, an operation that is not encoded, and skipped steps") {
  GradientSettings settings = codec_settings(kOneBit);
  settings.is_tuned = true;
  for (const RanksOnNodes& cluster : {RanksOnNodes{4, 2}, {3, 1}}) {
    const CodedRun tuned = run_model(kSmallModel, cluster, settings, Tuner::kMostSteps + 4);
    CHECK(tuned.is_equal_everywhere());
    CHECK(tuned.lost(kSmallModel) < 1e-2);
  }
  settings = codec_settings(kTopK);
  settings.non_finite = NonFiniteAction::skip;
  const CodedRun run = run_model(kSmallModel, {4, 2}, settings, 6, test::disturbed_at(3));
  CHECK(run.is_equal_everywhere());
  CHECK(run.lost(kSmallModel) < 2e-3);
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
  test::check_float32_on_wire(codec_settings(kInt8), {300}, {500}, 1e-2F);
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
    CAPTURE(entry_of(codec.id).name);
    test::check_non_finite_is_named(kSmallModel, codec_settings(codec), 3,
                                    std::numeric_limits<float>::infinity());
  }
}

TEST_CASE("what goes on from a saved state goes on as it would have, to the last bit") {
  for (const CodecChoice& codec : {kInt8, kOneBit, kTopK}) {
    CAPTURE(entry_of(codec.id).name);
    CHECK(test::resumes_exactly(kSmallModel, codec_settings(codec), 3, 6));
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
  CHECK(part({CodecId::top_k, 0.01}) < 0.0105);
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
  test::check_other_codec_is_named(kSmallModel, codec_settings(kTopK),
                                   codec_settings({CodecId::top_k, 0.02}));
}

TEST_CASE("a state is saved and loaded between steps, not within one") {
  auto ranks = communicators_in_process(1, 1s);
  Numbers values(5000);
  GradientExchange exchange(ranks[0], codec_settings(kOneBit));
  exchange.add("a", std::span(values));
  const auto saved = exchange.saved_state();
  exchange.ready({0});
  CHECK(test::failure_of([&] { exchange.saved_state(); }).kind() == ErrorKind::usage);
  CHECK(test::failure_of([&] { exchange.load_state(saved); }).kind() == ErrorKind::usage);
  exchange.wait_step();
  CHECK_NOTHROW(exchange.load_state(saved));
}

TEST_CASE("a rank that goes between steps with codes is named by those that wait for it") {
  for (const CodecChoice& codec : {kInt8, kOneBit, kTopK})
    test::check_leaver_between_steps_is_named(kSmallModel, codec_settings(codec));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
