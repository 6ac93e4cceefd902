// What ranks must agree on, how little they say for it, and what they change together.
#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/gradients/agree.hpp"
#include "comm/gradients/gradient_exchange.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/gradient_steps.hpp"
#include "support/run_ranks.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::all_are;
using test::communicators_in_process;
using test::failure_of;
using test::index_of;
using test::outcomes_of_ranks;
using test::run_ranks;

TEST_SUITE_BEGIN("comm/gradients");

TEST_CASE("ranks that registered other gradients are told which rank differs, and in what") {
  auto ranks = communicators_in_process(3, 5s);
  const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
    std::vector<float> values(3);
    GradientExchange exchange(comm);
    exchange.add(comm.rank() == Rank{2} ? "bias" : "weights", std::span(values));
    exchange.all_reduce_gradients(ReduceOp::average);
  });
  for (const auto& outcome : outcomes) {
    REQUIRE(outcome);
    const Error e = failure_of([&] { std::rethrow_exception(outcome); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()) ==
          "rank 2 has registered other gradients than rank 0: gradient number 0 is float32 [3] "
          "'bias', not float32 [3] 'weights'");
  }
}

TEST_CASE("ranks with other settings are told which rank and which setting") {
  const auto told = [](auto change) {
    auto ranks = communicators_in_process(3, 5s);
    const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
      std::vector<float> values(3);
      GradientSettings settings;
      if (comm.rank() == Rank{1}) change(settings);
      GradientExchange exchange(comm, settings);
      exchange.add("a", std::span(values));
      exchange.all_reduce_gradients(ReduceOp::average);
    });
    std::string what;
    for (const auto& outcome : outcomes) {
      const Error e = failure_of([&] {
        if (outcome) std::rethrow_exception(outcome);
      });
      CHECK(e.kind() == ErrorKind::usage);
      what = e.what();
    }
    return what;
  };
  const std::string same = " than rank 0: all ranks need the same";
  CHECK(told([](GradientSettings& s) { s.streams = 3; }) ==
        "rank 1 has another FASTGPU_COMM_LANES" + same);
  CHECK(told([](GradientSettings& s) { s.non_finite = NonFiniteAction::skip; }) ==
        "rank 1 has another FASTGPU_COMM_NANCHECK" + same);
  CHECK(told([](GradientSettings& s) { s.bucket = {1 << 20}; }) ==
        "rank 1 has another FASTGPU_COMM_FUSION" + same);
  CHECK(told([](GradientSettings& s) { s.is_tuned = true; }) ==
        "rank 1 has another FASTGPU_COMM_TUNE" + same);
}

TEST_CASE("ranks with other wires are told both, also if their buckets differ by the wire") {
  for (const std::string wire : {"fp16", "mixed", "int8", "1bit", "topk:0.01,momentum=0.9"}) {
    auto ranks = communicators_in_process(3, 5s);
    const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
      std::vector<float> values(3);
      GradientExchange exchange(
          comm, gradient_settings([&](const std::string& name) -> std::optional<std::string> {
            if (name == "FASTGPU_COMM_WIRE" && comm.rank() == Rank{1}) return wire;
            return std::nullopt;
          }));
      exchange.add("a", std::span(values));
      exchange.all_reduce_gradients(ReduceOp::average);
    });
    for (const auto& outcome : outcomes) {
      REQUIRE(outcome);
      const Error e = failure_of([&] { std::rethrow_exception(outcome); });
      CHECK(e.kind() == ErrorKind::usage);
      CHECK(std::string(e.what()) == "rank 1 has FASTGPU_COMM_WIRE '" + wire +
                                         "', and rank 0 'same': all ranks need the same");
    }
  }
}

TEST_CASE("ranks with another library are told which rank, and which library it has") {
  auto ranks = communicators_in_process(3, 5s);
  const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
    const GradientTable table;
    const GradientSettings settings;
    check_same_registration(comm, {table, settings, comm.rank() == Rank{2} ? "7.1\x1b" : "7.0"});
  });
  for (const auto& outcome : outcomes) {
    REQUIRE(outcome);
    CHECK(std::string(failure_of([&] { std::rethrow_exception(outcome); }).what()) ==
          "rank 2 runs another libfastgpu_comm than rank 0: 7.1?");
  }
}

TEST_CASE(
    "ranks that have another operation for the first step are all told, and the job goes on") {
  auto ranks = communicators_in_process(3, 5s);
  const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> values(10);
    GradientExchange exchange(comm);
    exchange.add("values", std::span(values));
    exchange.all_reduce_gradients(comm.rank() == Rank{1} ? ReduceOp::max : ReduceOp::sum);
  });
  for (const auto& outcome : outcomes) {
    REQUIRE(outcome);
    const Error e = failure_of([&] { std::rethrow_exception(outcome); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()) ==
          "rank 1 has the operation max, and rank 0 sum: all ranks need the same");
  }
  run_ranks(ranks, [](Communicator& comm) { comm.barrier(); });
}

TEST_CASE(
    "ranks that have another operation for a later step all get the status of ranks that differ") {
  for (int repetition = 0; repetition < 50; ++repetition) {
    auto ranks = communicators_in_process(2, 5s);
    const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
      std::vector<float> values(1000);
      GradientExchange exchange(comm);
      exchange.add("values", std::span(values));
      exchange.all_reduce_gradients(ReduceOp::sum);
      exchange.all_reduce_gradients(comm.rank() == Rank{1} ? ReduceOp::max : ReduceOp::sum);
    });
    for (const auto& outcome : outcomes) {
      REQUIRE(outcome);
      const Error e = failure_of([&] { std::rethrow_exception(outcome); });
      CHECK_MESSAGE(e.kind() == ErrorKind::usage, e.what());
      CHECK(std::string(e.what()).find("(max of") != std::string::npos);
    }
    const Error later = failure_of([&] { ranks[0].barrier(); });
    CHECK(later.kind() == ErrorKind::usage);
  }
}

TEST_CASE("what ranks say about a step does not grow with gradients, ranks and time") {
  for (int size = 2; size <= 9; ++size) {
    auto ranks = communicators_in_process(size, 20s);
    std::vector<std::uint64_t> bytes(ranks.size());
    constexpr int kSteps = 20;
    run_ranks(ranks, [&](Communicator& comm) {
      std::vector<float> values(10);
      GradientExchange exchange(comm);
      for (int i = 0; i < 161; ++i)
        exchange.add(std::to_string(i), std::span(values));
      for (int step = 0; step < kSteps; ++step) {
        if (step % 5 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(step));
        exchange.all_reduce_gradients(ReduceOp::average);
      }
      bytes[index_of(comm)] = exchange.counters().negotiation_bytes;
    });
    for (const std::uint64_t each : bytes) {
      CHECK(each <= 64 * kSteps);
      CHECK(each == bytes[0]);
    }
  }
}

TEST_CASE("a step with more gradients than one short message has room for ends too") {
  auto ranks = communicators_in_process(3, 10s);
  std::vector<std::size_t> skipped(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    GradientExchange exchange(comm);
    for (int i = 0; i < 70'000; ++i)
      exchange.add({.name = std::to_string(i), .shape = {0}}, {});
    exchange.ready({69'999});
    skipped[index_of(comm)] = exchange.wait_step().skipped.size();
  });
  CHECK(skipped == std::vector<std::size_t>(3, 69'999));
}

TEST_CASE("tuning changes all ranks together, ends, and is kept for the next job") {
  const test::TempDirectory folder;
  GradientSettings settings;
  settings.is_tuned = true;
  settings.cache = (folder.path() / "cache").string();
  for (int job = 0; job < 2; ++job) {
    auto ranks = communicators_in_process(3, 20s);
    std::vector<std::string> failures(ranks.size());
    std::vector<int> moves(ranks.size());
    run_ranks(ranks, [&](Communicator& comm) {
      std::vector<float> a(300'000), b(70'000);
      GradientExchange exchange(comm, settings);
      exchange.add("a", std::span(a));
      exchange.add("b", std::span(b));
      for (int step = 0; step < Tuner::kMostSteps + 3; ++step) {
        a.assign(a.size(), static_cast<float>(comm.rank().value + step));
        b.assign(b.size(), static_cast<float>(step));
        exchange.ready({0});
        exchange.ready({1});
        if (exchange.wait_step().have_views_moved) ++moves[index_of(comm)];
        if (!all_are(a, 1 + step) || !all_are(b, step)) failures[index_of(comm)] = "values";
      }
    });
    CHECK(failures == std::vector<std::string>(ranks.size()));
    CHECK(moves == std::vector<int>(ranks.size(), moves[0]));
    if (job == 0)
      CHECK(moves[0] > 5);
    else
      CHECK(moves[0] == 1);
    CHECK(std::distance(std::filesystem::directory_iterator(settings.cache),
                        std::filesystem::directory_iterator()) == 1);
  }
}

TEST_CASE("timelines and counters are left behind, and a step costs few bytes of talk") {
  const test::TempDirectory folder;
  GradientSettings settings;
  settings.timeline = (folder.path() / "timeline").string();
  settings.counters = (folder.path() / "counters").string();
  auto ranks = communicators_in_process(4, 20s);
  std::vector<std::uint64_t> bytes(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> values(100);
    GradientExchange exchange(comm, settings);
    for (int i = 0; i < 161; ++i)
      exchange.add(std::to_string(i), std::span(values));
    for (int step = 0; step < 10; ++step)
      exchange.all_reduce_gradients(ReduceOp::average);
    bytes[index_of(comm)] = exchange.counters().negotiation_bytes;
  });
  CHECK(bytes == std::vector<std::uint64_t>(4, 10 * 2 * Summary::kBytes));
  for (int rank = 0; rank < 4; ++rank) {
    const std::string name = "/rank-" + std::to_string(rank);
    for (const std::string& file :
         {settings.timeline + name + ".json", settings.counters + name + ".json",
          settings.counters + name + ".prom"})
      CHECK(std::filesystem::file_size(file) > 100);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
