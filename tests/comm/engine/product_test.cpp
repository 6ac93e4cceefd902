// Every algorithm x type x operation x number of ranks x length, run by the engine over memory and
// over sockets, against sums in float64.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

#include "comm/engine/engine.hpp"
#include "comm/schedule/all_reduce.hpp"
#include "support/connect_in_process.hpp"
#include "support/reference_reduce.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::run_ranks;

constexpr int kMostTriedRanks = 9;
constexpr std::size_t kLengths[] = {0, 1, 97, 255, 257};
/// Longer than what is sent unasked, so that every way of a message is taken.
constexpr std::size_t kLongLength = 40'009;
constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max,
                             ReduceOp::product};

struct Method {
  SchedulePlan plan;
  int ranks_per_node = 1;
  Averaging averaging = Averaging::at_end;
};

const Method kMethods[] = {
    {{Algorithm::ring, {3, 2}}, 1, Averaging::of_sums},
    {{Algorithm::direct, {2, 2}}, 1, Averaging::of_sums},
    {{Algorithm::recursive_doubling}},
    {{Algorithm::halving_doubling, {2, 1}}},
    {{Algorithm::tree, {3, 1}}},
    {{Algorithm::hierarchical, {2, 2}}, 2, Averaging::of_sums},
    {{Algorithm::hierarchical, {1, 1}, 2, Algorithm::ring}, 3},
    {{Algorithm::hierarchical, {2, 1}, 1, Algorithm::halving_doubling}, 4},
};

template <class T>
constexpr bool kIsWhole = std::is_integral_v<T>;

template <class T>
T as_number(double value) {
  if constexpr (std::is_same_v<T, Float16>)
    return to_float16(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, BFloat16>)
    return to_bfloat16(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

template <class T>
double as_double(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return static_cast<double>(to_float(value));
}

template <class T>
double epsilon() {
  if constexpr (std::is_same_v<T, Float16>) return 0x1p-10;
  if constexpr (std::is_same_v<T, BFloat16>) return 0x1p-7;
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<double>(std::numeric_limits<T>::epsilon());
  return 0;
}

/// Numbers whose results every type can hold: small whole ones, for products those whose absolute
/// value stays below 16, and for wide types fractions too.
template <class T>
std::vector<T> contribution(int rank, std::size_t length, ReduceOp op) {
  std::minstd_rand random(static_cast<unsigned>(rank * 1000 + 1) + static_cast<unsigned>(length));
  std::vector<T> values(length);
  for (T& value : values) {
    double number = static_cast<double>(random() % 7) - (std::is_unsigned_v<T> ? 0 : 3);
    if (op == ReduceOp::product) number = random() % 2 == 0 ? 1 : (rank % 3 == 0 ? 2 : 1);
    if (op != ReduceOp::product && std::is_floating_point_v<T>)
      number += static_cast<double>(random() % 1024) / 3.0;
    value = as_number<T>(number);
  }
  return values;
}

template <class T>
using PerRank = std::vector<std::vector<T>>;

template <class T>
PerRank<T> contributions(int ranks, std::size_t length, ReduceOp op) {
  PerRank<T> all;
  for (int rank = 0; rank < ranks; ++rank)
    all.push_back(contribution<T>(rank, length, op));
  return all;
}

template <class T>
std::size_t wrong_elements(const PerRank<T>& inputs, const std::vector<T>& result, ReduceOp op) {
  std::size_t wrong = 0;
  std::vector<double> column(inputs.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    double magnitude = 0;
    for (std::size_t r = 0; r < inputs.size(); ++r) {
      column[r] = as_double(inputs[r][i]);
      magnitude += std::abs(column[r]);
    }
    const double expected = test::reference_reduce(column, op, kIsWhole<T>);
    const double tolerance = epsilon<T>() * static_cast<double>(inputs.size()) * magnitude;
    if (!(std::abs(as_double(result[i]) - expected) <= tolerance)) ++wrong;
  }
  return wrong;
}

template <class T>
bool is_bit_equal(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
}

using Engines = std::vector<std::unique_ptr<Engine>>;

Engines engines_in_process(int size, SharedMemory shared_memory) {
  auto connections = test::sockets_in_process(size, 20s, 2);
  run_ranks(connections, [&](Connections& rank) {
    introduce(rank, test::wishes(shared_memory, 2), Deadline(20s));
  });
  Engines engines;
  for (Connections& rank : connections)
    engines.push_back(std::make_unique<Engine>(std::move(rank)));
  return engines;
}

/// One all-reduce of many that follow each other on the same engines.
struct Job {
  Method method;
  Topology topology;
  Reduction reduction{};
  std::uint64_t sequence = 0;

  void run(Engine& engine, std::span<std::byte> data) const {
    const std::size_t count = data.size() / size_of(reduction.type);
    std::vector<Rank> group;
    for (int rank = 0; rank < topology.ranks(); ++rank)
      group.push_back({rank});
    const Averaging averaging =
        reduction.op == ReduceOp::average ? method.averaging : Averaging::none;
    const Call call{.kind = CallKind::all_reduce,
                    .sequence = sequence,
                    .bytes = data.size(),
                    .reduction = reduction};
    const auto operation =
        engine.start({.program = std::make_shared<const PreparedProgram>(
                          all_reduce(method.plan, engine.rank(), topology, count), averaging,
                          std::make_shared<const std::vector<Rank>>(std::move(group))),
                      .data = data,
                      .reduction = reduction,
                      .tag_base = sequence << 28,
                      .call = call,
                      .note = encode(call)});
    engine.wait(*operation);
  }
};

/// What went wrong, in words, for every method and operation on data of these lengths.
template <class T>
std::vector<std::string> complaints(int size, SharedMemory shared_memory,
                                    std::span<const std::size_t> lengths) {
  std::vector<std::string> found;
  const Engines engines = engines_in_process(size, shared_memory);
  std::vector<Job> jobs;
  for (const Method& method : kMethods)
    for (const ReduceOp op : kOps)
      jobs.push_back({method, filled_nodes(size, method.ranks_per_node), {kElementType<T>, op}});
  std::vector<PerRank<T>> inputs;
  for (const Job& job : jobs)
    for (const std::size_t length : lengths)
      inputs.push_back(contributions<T>(size, length, job.reduction.op));
  auto results = inputs;
  auto again = inputs;

  run_ranks(engines, [&](const std::unique_ptr<Engine>& engine) {
    const auto rank = static_cast<std::size_t>(engine->rank().value);
    std::uint64_t sequence = 0;
    for (auto* const run : {&results, &again})
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        Job job = jobs[i / lengths.size()];
        // What is not rounded is the same every time if it is right.
        if (run == &again && (kIsWhole<T> || job.reduction.op != ReduceOp::sum)) continue;
        job.sequence = sequence++;
        job.run(*engine, std::as_writable_bytes(std::span((*run)[i][rank])));
      }
  });

  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Job& job = jobs[i / lengths.size()];
    const std::string what =
        std::string(name_of(job.method.plan.algorithm)) + " " +
        std::string(name_of(job.reduction.op)) + " of " + std::to_string(inputs[i][0].size()) +
        " " + std::string(name_of(job.reduction.type)) + " on " + std::to_string(size) + " ranks";
    if (wrong_elements(inputs[i], results[i][0], job.reduction.op) > 0)
      found.push_back("wrong: " + what);
    for (const auto& result : results[i])
      if (!is_bit_equal(result, results[i][0])) found.push_back("not the same on all: " + what);
    const bool is_repeated = !kIsWhole<T> && job.reduction.op == ReduceOp::sum;
    if (is_repeated && !is_bit_equal(again[i][0], results[i][0]))
      found.push_back("another time other: " + what);
  }
  return found;
}

TEST_SUITE_BEGIN("comm/product");

TEST_CASE_TEMPLATE("every algorithm reduces every type by every operation, to the same bits", T,
                   float, double, std::int32_t, std::int64_t, Float16, BFloat16, std::int8_t,
                   std::uint8_t) {
  for (int size = 1; size <= kMostTriedRanks; ++size) {
    const auto shared_memory = size % 2 == 0 ? SharedMemory::off : SharedMemory::on;
    CHECK(complaints<T>(size, shared_memory, kLengths) == std::vector<std::string>());
  }
}

TEST_CASE_TEMPLATE("and long data as short", T, float, std::int8_t) {
  const std::size_t lengths[] = {kLongLength};
  for (const int size : {2, 3, 5}) {
    for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off})
      CHECK(complaints<T>(size, shared_memory, lengths) == std::vector<std::string>());
  }
}

TEST_CASE_TEMPLATE("a reduce-scatter does so for every type and operation", T, float, double,
                   std::int32_t, std::int64_t, Float16, BFloat16, std::int8_t, std::uint8_t) {
  for (int size = 1; size <= kMostTriedRanks; ++size) {
    auto ranks = test::communicators_in_process(
        size, 20s, size % 2 == 0 ? SharedMemory::on : SharedMemory::off);
    for (const ReduceOp op : kOps) {
      for (const std::size_t block : {0, 1, 63, 1021}) {
        const auto inputs = contributions<T>(size, block * ranks.size(), op);
        std::vector<T> together(block * ranks.size());
        run_ranks(ranks, [&](Communicator& comm) {
          const auto rank = static_cast<std::size_t>(comm.rank().value);
          comm.reduce_scatter(
              std::as_bytes(std::span(inputs[rank])),
              std::as_writable_bytes(std::span(together).subspan(rank * block, block)),
              {kElementType<T>, op});
        });
        CAPTURE(size);
        CAPTURE(block);
        CAPTURE(name_of(op));
        CHECK(wrong_elements(inputs, together, op) == 0);
      }
    }
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
