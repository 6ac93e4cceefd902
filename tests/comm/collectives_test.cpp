#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "comm/algorithms/ring.hpp"
#include "comm/algorithms/tree.hpp"
#include "comm/communicator.hpp"
#include "support/connect_in_process.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::communicators_in_process;
using test::connect_in_process;
using test::run_ranks;

constexpr int kMostTestedRanks = 9;
const std::vector<std::size_t> kLengths{0, 1, 2, 3, 8, 9, 97, 1021, 1023, 1024, 1025};

std::size_t index(Rank rank) {
  return static_cast<std::size_t>(rank.value);
}

/// One vector per rank, the same in every run.
template <class T>
std::vector<std::vector<T>> contributions(int ranks, std::size_t length) {
  std::mt19937 random(static_cast<std::uint32_t>(ranks) * 7919 +
                      static_cast<std::uint32_t>(length));
  std::uniform_int_distribution<int> number(-1'000'000, 1'000'000);
  std::vector<std::vector<T>> all(static_cast<std::size_t>(ranks), std::vector<T>(length));
  for (auto& one : all)
    for (T& value : one)
      value = static_cast<T>(std::is_integral_v<T> ? number(random) : number(random) / 1024.0);
  return all;
}

double reference(const std::vector<double>& values, ReduceOp op, bool is_integral) {
  double sum = 0;
  for (const double value : values)
    sum += value;
  switch (op) {
    case ReduceOp::sum:
      return sum;
    case ReduceOp::average: {
      const double mean = sum / static_cast<double>(values.size());
      return is_integral ? std::trunc(mean) : mean;
    }
    case ReduceOp::min:
      return *std::ranges::min_element(values);
    case ReduceOp::max:
      return *std::ranges::max_element(values);
    case ReduceOp::product:
      return std::accumulate(values.begin(), values.end(), 1.0, std::multiplies<>());
  }
  return 0;
}

/// Rounding of n additions, relative to the largest magnitudes that the inputs have.
template <class T>
double tolerance(int ranks) {
  if (std::is_integral_v<T>) return 0;
  return 1000.0 * ranks * ranks * static_cast<double>(std::numeric_limits<T>::epsilon());
}

/// Elements of `result` further from the reference than rounding explains.
template <class T>
std::size_t wrong_elements(const std::vector<std::vector<T>>& inputs, const std::vector<T>& result,
                           ReduceOp op) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::vector<double> column;
    for (const auto& input : inputs)
      column.push_back(static_cast<double>(input[i]));
    const double expected = reference(column, op, std::is_integral_v<T>);
    const double error = std::abs(static_cast<double>(result[i]) - expected);
    if (!(error <= tolerance<T>(static_cast<int>(inputs.size())))) ++wrong;
  }
  return wrong;
}

template <class T>
bool bit_equal(const std::vector<T>& a, const std::vector<T>& b) {
  const auto bytes_a = std::as_bytes(std::span(a));
  const auto bytes_b = std::as_bytes(std::span(b));
  return std::ranges::equal(bytes_a, bytes_b);
}

template <class T>
std::vector<std::vector<T>> all_reduced(std::vector<std::vector<T>> values,
                                        std::size_t scratch_bytes, ReduceOp op) {
  auto ranks = connect_in_process(static_cast<int>(values.size()), 20s);
  run_ranks(ranks, [&](Transport& t) {
    std::vector<std::byte> scratch(scratch_bytes);
    ring_all_reduce(t, std::as_writable_bytes(std::span(values[index(t.rank())])),
                    {kElementType<T>, op}, scratch);
  });
  return values;
}

TEST_SUITE_BEGIN("comm/collectives");

TEST_CASE_TEMPLATE("every all-reduce agrees with a float64 sum and is the same on all ranks", T,
                   float, double, std::int32_t, std::int64_t) {
  for (int size = 1; size <= kMostTestedRanks; ++size) {
    auto ranks = communicators_in_process(size, 20s);
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max}) {
      std::vector<std::vector<std::vector<T>>> inputs;
      for (const std::size_t length : kLengths)
        inputs.push_back(contributions<T>(size, length));
      auto results = inputs;

      run_ranks(ranks, [&](Communicator& comm) {
        for (auto& values : results)
          comm.all_reduce(std::span(values[index(comm.rank())]), op);
      });

      for (std::size_t i = 0; i < kLengths.size(); ++i) {
        CAPTURE(size);
        CAPTURE(kLengths[i]);
        CAPTURE(name_of(op));
        CHECK(wrong_elements(inputs[i], results[i][0], op) == 0);
        for (const auto& result : results[i])
          CHECK(bit_equal(result, results[i][0]));
      }
    }
  }
}

TEST_CASE("the result does not depend on how small the pieces are") {
  for (const int size : {2, 3, 5}) {
    const auto inputs = contributions<float>(size, 1021);
    const auto whole = all_reduced(inputs, 1 << 20, ReduceOp::sum);
    for (const std::size_t scratch : {4, 7, 64, 1000}) {
      CAPTURE(size);
      CAPTURE(scratch);
      CHECK(all_reduced(inputs, scratch, ReduceOp::sum) == whole);
    }
  }
}

TEST_CASE("repeating an all-reduce gives the same bits") {
  const auto inputs = contributions<float>(4, 10'007);
  CHECK(all_reduced(inputs, 4096, ReduceOp::average) ==
        all_reduced(inputs, 4096, ReduceOp::average));
}

TEST_CASE("an all-reduce larger than any socket buffer ends") {
  const auto inputs = contributions<double>(3, 1 << 20);
  const auto results = all_reduced(inputs, 256 << 10, ReduceOp::sum);
  CHECK(wrong_elements(inputs, results[0], ReduceOp::sum) == 0);
  CHECK(bit_equal(results[0], results[2]));
}

TEST_CASE("a NaN of any rank reaches every rank through min and max") {
  for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
    auto inputs = contributions<float>(3, 5);
    inputs[1][2] = std::numeric_limits<float>::quiet_NaN();
    for (const auto& result : all_reduced(inputs, 64, op)) {
      CHECK(std::isnan(result[2]));
      CHECK_FALSE(std::isnan(result[1]));
    }
  }
}

TEST_CASE("integer sums wrap around") {
  const std::vector<std::vector<std::int32_t>> inputs{{std::numeric_limits<std::int32_t>::max()},
                                                      {1}};
  CHECK(all_reduced(inputs, 64, ReduceOp::sum)[0][0] == std::numeric_limits<std::int32_t>::min());
}

TEST_CASE("a broadcast copies the root's bytes to every rank") {
  for (int size = 1; size <= kMostTestedRanks; ++size) {
    auto ranks = communicators_in_process(size, 20s);
    for (int root = 0; root < size; ++root) {
      for (const std::size_t length : {0, 1, 1021, 66'000}) {
        auto values = contributions<std::int32_t>(size, length);
        const auto expected = values[static_cast<std::size_t>(root)];

        run_ranks(ranks, [&](Communicator& comm) {
          comm.broadcast(std::as_writable_bytes(std::span(values[index(comm.rank())])), {root});
        });

        CAPTURE(size);
        CAPTURE(root);
        CHECK(std::ranges::all_of(values, [&](const auto& value) { return value == expected; }));
      }
    }
  }
}

TEST_CASE("an all-gather orders the contributions by rank") {
  for (int size = 1; size <= kMostTestedRanks; ++size) {
    auto ranks = communicators_in_process(size, 20s);
    for (const std::size_t length : {0, 1, 97}) {
      const auto inputs = contributions<std::int64_t>(size, length);
      std::vector<std::int64_t> expected;
      for (const auto& input : inputs)
        expected.insert(expected.end(), input.begin(), input.end());
      std::vector<std::vector<std::int64_t>> results(ranks.size(), expected);
      for (auto& result : results)
        std::ranges::fill(result, 0);

      run_ranks(ranks, [&](Communicator& comm) {
        comm.all_gather(std::as_bytes(std::span(inputs[index(comm.rank())])),
                        std::as_writable_bytes(std::span(results[index(comm.rank())])));
      });

      CAPTURE(size);
      for (const auto& result : results)
        CHECK(result == expected);
    }
  }
}

TEST_CASE("no rank leaves a barrier before the last one has come") {
  for (int size = 1; size <= kMostTestedRanks; ++size) {
    auto ranks = communicators_in_process(size, 20s);
    std::atomic<int> arrived = 0;
    std::vector<int> seen(ranks.size());

    run_ranks(ranks, [&](Communicator& comm) {
      ++arrived;
      comm.barrier();
      seen[index(comm.rank())] = arrived;
    });

    CAPTURE(size);
    CHECK(seen == std::vector<int>(ranks.size(), size));
  }
}

TEST_CASE("every rank but the root is the child of exactly one rank, its parent") {
  for (int size = 1; size <= 17; ++size) {
    for (int root = 0; root < size; ++root) {
      std::vector<int> parents(static_cast<std::size_t>(size), -1);
      std::size_t children = 0;
      for (int rank = 0; rank < size; ++rank) {
        for (const Rank child : place_in_tree({rank}, {root}, size).children) {
          parents[index(child)] = rank;
          ++children;
        }
      }
      CAPTURE(size);
      CAPTURE(root);
      CHECK(children == static_cast<std::size_t>(size) - 1);
      for (int rank = 0; rank < size; ++rank)
        if (rank != root)
          CHECK(place_in_tree({rank}, {root}, size).parent.value == parents[index({rank})]);
    }
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
