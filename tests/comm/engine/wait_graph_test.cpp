#include "comm/engine/wait_graph.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kMost = 8192;

WaitReport blocked(const WaitGraph& graph, std::vector<Rank> awaited, std::uint64_t moved = 5) {
  return {.round = graph.round(),
          .moved = moved,
          .is_blocked = true,
          .awaited = std::move(awaited),
          .doing = "a call"};
}

TEST_SUITE_BEGIN("comm/wait_graph");

TEST_CASE("a report is what its reader gets, and control characters are not") {
  const WaitReport report{7, 9, true, {{3}, {70000}}, "barrier\x1b[2J number 3"};
  const WaitReport read = decode_wait_report(encode(report, kMost));
  CHECK(read.round == 7);
  CHECK(read.moved == 9);
  CHECK(read.is_blocked);
  CHECK(read.awaited == report.awaited);
  CHECK(read.doing == "barrier?[2J number 3");
  CHECK(test::failure_of([] { decode_wait_report(std::vector<std::byte>(10)); }).kind() ==
        ErrorKind::remote);
}

TEST_CASE("a rank that waits for more others than fit in an answer is not called blocked") {
  const WaitReport report{1, 1, true, std::vector<Rank>(5000, Rank{1}), "barrier"};
  const WaitReport read = decode_wait_report(encode(report, kMost));
  CHECK_FALSE(read.is_blocked);
  CHECK(read.awaited.empty());
}

TEST_CASE("ranks that wait for each other twice in a row, and nothing moved, are a dead end") {
  WaitGraph graph({0});
  for (int round = 0; round < 2; ++round) {
    CHECK_FALSE(graph.dead_end());
    CHECK(graph.begin_round(blocked(graph, {{1}})) == std::vector<Rank>{{1}});
    CHECK(graph.on_report({1}, blocked(graph, {{2}, {0}})) == std::vector<Rank>{{2}});
    CHECK_FALSE(graph.is_complete());
    CHECK(graph.on_report({2}, blocked(graph, {{0}})).empty());
    CHECK(graph.is_complete());
  }
  REQUIRE(graph.dead_end());
  CHECK(*graph.dead_end() ==
        "the ranks wait for each other, and none can go on: rank 0 waits in a call for rank 1, "
        "rank 1 waits in a call for rank 2 and others, rank 2 waits in a call for rank 0");
}

TEST_CASE("no dead end is seen where one rank computes, or something moves") {
  WaitGraph graph({0});
  const auto round = [&](bool is_blocked, std::uint64_t moved) {
    graph.begin_round(blocked(graph, {{1}}));
    WaitReport answer = blocked(graph, {{0}}, moved);
    answer.is_blocked = is_blocked;
    graph.on_report({1}, answer);
    return graph.dead_end().has_value();
  };
  CHECK_FALSE(round(true, 1));
  CHECK_FALSE(round(true, 2));
  CHECK_FALSE(round(false, 2));
  CHECK_FALSE(round(true, 2));
  graph.forget();
  CHECK_FALSE(round(true, 2));
  CHECK(round(true, 2));
}

TEST_CASE("answers of an earlier round, and of ranks that were not asked, do not count") {
  WaitGraph graph({0});
  const WaitReport early = blocked(graph, {{0}});
  graph.begin_round(blocked(graph, {{1}}));
  graph.on_report({1}, early);
  CHECK(graph.answer_of({1}) == nullptr);
  graph.on_report({2}, blocked(graph, {{0}}));
  CHECK(graph.answer_of({2}) == nullptr);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
