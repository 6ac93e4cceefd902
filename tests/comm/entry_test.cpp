#include "comm/entry.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::communicators_in_process;
using test::failure_of;
using test::run_ranks;

/// Twelve bytes hold three float32.
constexpr Bytes kSmallBucket{12};

template <class T>
bool all_are(const std::vector<T>& values, int expected) {
  return std::ranges::all_of(values, [&](T value) { return value == static_cast<T>(expected); });
}

TEST_SUITE_BEGIN("comm/entry");

TEST_CASE("every registered gradient is averaged over the ranks, step after step") {
  auto ranks = communicators_in_process(3, 10s);
  std::vector<std::string> failures(ranks.size());

  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> small(2), tiny(1), large(100), other(5);
    std::vector<double> precise(4);
    GradientEntry entry(comm, kSmallBucket);
    entry.add("small", std::span(small));
    entry.add("tiny", std::span(tiny));
    entry.add("large", std::span(large));
    entry.add("precise", std::span(precise));
    entry.add("other", std::span(other));
    auto& failure = failures[static_cast<std::size_t>(comm.rank().value)];
    for (int step = 1; step <= 3; ++step) {
      const int mine = step * (comm.rank().value + 1);  // Averages to 2 * step over three ranks.
      for (auto* values : {&small, &tiny, &large, &other})
        values->assign(values->size(), static_cast<float>(mine));
      precise.assign(precise.size(), mine);
      entry.all_reduce_gradients();
      for (const auto* values : {&small, &tiny, &large, &other})
        if (!all_are(*values, 2 * step)) failure = "float32 in step " + std::to_string(step);
      if (!all_are(precise, 2 * step)) failure = "float64 in step " + std::to_string(step);
    }
  });

  CHECK(failures == std::vector<std::string>(ranks.size()));
}

TEST_CASE("neighbours of one type share a bucket as far as it reaches") {
  auto ranks = communicators_in_process(1, 1s);
  std::vector<float> two(2), one(1), large(100);
  std::vector<double> precise(1);
  GradientEntry entry(ranks[0], kSmallBucket);
  CHECK(entry.buckets() == 0);
  entry.add("a", std::span(two));
  entry.add("b", std::span(one));
  CHECK(entry.buckets() == 1);
  entry.add("c", std::span(one));
  CHECK(entry.buckets() == 2);
  entry.add("d", std::span(large));
  CHECK(entry.buckets() == 3);
  entry.add("e", std::span(precise));
  CHECK(entry.buckets() == 4);
}

TEST_CASE("an entry layer without gradients does nothing") {
  auto ranks = communicators_in_process(2, 5s);
  CHECK_NOTHROW(
      run_ranks(ranks, [](Communicator& comm) { GradientEntry(comm).all_reduce_gradients(); }));
}

TEST_CASE("a name is registered once, and nothing after the first step") {
  auto ranks = communicators_in_process(1, 1s);
  std::vector<float> values(3);
  GradientEntry entry(ranks[0]);
  entry.add("weights", std::span(values));
  CHECK(failure_of([&] { entry.add("weights", std::span(values)); }).kind() == ErrorKind::usage);
  entry.all_reduce_gradients();
  CHECK(failure_of([&] { entry.add("bias", std::span(values)); }).kind() == ErrorKind::usage);
}

TEST_CASE("ranks that registered different gradients are told which rank differs") {
  auto ranks = communicators_in_process(3, 5s);
  const auto outcomes = test::outcomes_of_ranks(ranks, [](Communicator& comm) {
    std::vector<float> values(3);
    GradientEntry entry(comm);
    entry.add(comm.rank() == Rank{2} ? "bias" : "weights", std::span(values));
    entry.all_reduce_gradients();
  });
  for (const auto& outcome : outcomes) {
    REQUIRE(outcome);
    const Error e = failure_of([&] { std::rethrow_exception(outcome); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).find("rank 2 has registered other gradients") == 0);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
