#include "cli/workflows/trace_reading.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace fastgpu::cli {
namespace {

UsageEvidence node_with(const std::string& name, int first, int count) {
  UsageEvidence out{.node = name};
  for (int i = 0; i < count; ++i)
    out.usage.timelines.push_back({.rank = first + i, .path = "/t", .size = 1});
  return out;
}

std::size_t ranks_in(const TracePlan& plan) {
  std::size_t count = 0;
  for (const auto& node : plan.nodes)
    count += node.ranks.size();
  return count;
}

TEST_SUITE_BEGIN("cli/trace_reading");

TEST_CASE("of few timelines half a MiB is read on each node that has some") {
  const std::vector<UsageEvidence> usage = {node_with("a", 0, 2), node_with("b", 0, 0),
                                            node_with("c", 2, 1)};
  const TracePlan plan = plan_of_traces(usage);
  CHECK(plan.bytes == 512UL << 10U);
  REQUIRE(plan.nodes.size() == 2);
  CHECK(plan.nodes[0].node == "a");
  CHECK(plan.nodes[0].ranks == std::vector{0, 1});
  CHECK(plan.nodes[1].node == "c");
  CHECK(plan.nodes[1].ranks == std::vector{2});
  CHECK(plan.left_out == 0);
  CHECK(plan_of_traces({}).nodes.empty());
}

TEST_CASE("all timelines together are 16 MiB, and of too many those of the lowest ranks are read") {
  const std::vector<UsageEvidence> some = {node_with("a", 0, 64)};
  CHECK(plan_of_traces(some).bytes == 256UL << 10U);
  const std::vector<UsageEvidence> many = {node_with("b", 500, 500), node_with("a", 0, 500)};
  const TracePlan plan = plan_of_traces(many);
  CHECK(plan.bytes == 64UL << 10U);
  CHECK(ranks_in(plan) == 256);
  CHECK(plan.left_out == 744);
  REQUIRE(plan.nodes.size() == 1);
  CHECK(plan.nodes[0].node == "a");
}

TEST_CASE("a timeline in a folder that nodes share is read once") {
  const std::vector<UsageEvidence> usage = {node_with("a", 0, 4), node_with("b", 0, 4)};
  const TracePlan plan = plan_of_traces(usage);
  CHECK(ranks_in(plan) == 4);
  CHECK(plan.left_out == 0);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
