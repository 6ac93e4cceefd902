#include "comm/gradients/mixed_precision_reduce.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "comm/kernels/convert.hpp"
#include "support/connect_in_process.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::communicators_in_process;
using test::run_ranks;

using Halves = std::vector<std::uint16_t>;
constexpr Conversion kWiden{ElementType::float16, ElementType::float32};
constexpr Conversion kRound{ElementType::float32, ElementType::float16};

Halves rounded(const std::vector<float>& values) {
  Halves halves(values.size());
  convert(std::as_writable_bytes(std::span(halves)), std::as_bytes(std::span(values)), kRound);
  return halves;
}

/// Added in their order in float32, rounded once.
Halves sum_of(std::span<const Halves> rows) {
  std::vector<float> sum(rows.front().size());
  for (const Halves& row : rows)
    convert_and_add(std::as_writable_bytes(std::span(sum)), std::as_bytes(std::span(row)), kWiden);
  return rounded(sum);
}

/// What each rank gives: large and small numbers, so that every rounding shows.
std::vector<Halves> numbers(int ranks, std::size_t count) {
  std::mt19937 random(7);
  std::vector<Halves> all;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<float> values;
    for (std::size_t i = 0; i < count; ++i)
      values.push_back(static_cast<float>(random() % 2 == 0 ? 2048 : 1 + random() % 7));
    all.push_back(rounded(values));
  }
  return all;
}

/// What each rank has at the end.
std::vector<Halves> mixed_sums(std::vector<Halves> values, int ranks_per_node) {
  auto ranks = communicators_in_process(static_cast<int>(values.size()), 20s, SharedMemory::on, 1,
                                        ranks_per_node);
  run_ranks(ranks, [&](Communicator& comm) {
    ReductionLevels levels = reduction_levels_of(comm);
    Halves& mine = values[static_cast<std::size_t>(comm.rank().value)];
    MixedPrecisionReduce sum(levels, std::as_writable_bytes(std::span(mine)), ElementType::float16);
    sum.reduce_in_node();
    sum.reduce_across_nodes();
    sum.broadcast_in_node();
    sum.wait();
  });
  return values;
}

TEST_SUITE_BEGIN("comm/mixed_precision_reduce");

TEST_CASE("ranks of nodes that are alike add up inside nodes, then across them") {
  for (const auto& [nodes, ranks_each] : {std::pair(2, 2), {3, 2}, {2, 4}})
    for (const std::size_t count : {0, 1, 3, 8, 1003}) {
      const auto values = numbers(nodes * ranks_each, count);
      std::vector<Halves> of_nodes;
      for (std::size_t node = 0; node < static_cast<std::size_t>(nodes); ++node) {
        const auto each = static_cast<std::size_t>(ranks_each);
        of_nodes.push_back(sum_of(std::span(values).subspan(node * each, each)));
      }
      const std::vector<Halves> expected(values.size(), sum_of(of_nodes));
      CHECK_MESSAGE(mixed_sums(values, ranks_each) == expected, nodes << " nodes, " << count);
    }
}

TEST_CASE("ranks of one node, one a node, or of nodes that differ add up all at once") {
  for (const auto& [ranks, ranks_each] : {std::pair(4, 4), {4, 1}, {5, 2}, {1, 1}}) {
    const auto values = numbers(ranks, 1003);
    const std::vector<Halves> expected(values.size(), sum_of(values));
    CHECK_MESSAGE(mixed_sums(values, ranks_each) == expected, ranks << " ranks, " << ranks_each);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
