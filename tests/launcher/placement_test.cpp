#include "launcher/placement.hpp"

#include <doctest/doctest.h>

#include "launcher/hostfile.hpp"
#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using test::failure_of;

struct Case {
  std::vector<int> slots;
  std::optional<int> ranks;
  std::optional<int> per_node;
  Crowding crowding;
  std::vector<int> expected;  ///< Empty: refused.
};

std::vector<NodeSlots> nodes_of(const std::vector<int>& slots) {
  std::vector<NodeSlots> nodes;
  for (const int count : slots)
    nodes.push_back({.name = {"n-" + std::to_string(nodes.size())}, .slots = count});
  return nodes;
}

JobSpec spec_of(const Case& c) {
  return {.name = {"j"},
          .argv = {"x"},
          .ranks = c.ranks,
          .per_node = c.per_node,
          .crowding = c.crowding};
}

TEST_SUITE_BEGIN("launcher/placement");

TEST_CASE("ranks go where there is room, the first node first") {
  const auto no = std::nullopt;
  constexpr auto kRefused = Crowding::refused;
  constexpr auto kAllowed = Crowding::allowed;
  const std::vector<Case> cases = {
      {{2, 2}, no, no, kRefused, {2, 2}},
      {{2, 2}, 3, no, kRefused, {2, 1}},
      {{2, 2}, 1, no, kRefused, {1}},
      {{2, 2}, 4, no, kRefused, {2, 2}},
      {{2, 2}, 5, no, kRefused, {}},
      {{2, 2}, 5, no, kAllowed, {3, 2}},
      {{1, 3}, 9, no, kAllowed, {4, 5}},
      {{4, 4}, no, 1, kRefused, {1, 1}},
      {{4, 4}, 3, 2, kRefused, {2, 1}},
      {{4, 4}, 5, 2, kRefused, {}},
      {{4, 1}, no, 2, kRefused, {}},
      {{4, 1}, no, 2, kAllowed, {2, 2}},
      {{4, 1}, 3, 2, kRefused, {2, 1}},
      {{4, 4}, 5, 2, kAllowed, {}},
      {{2}, 0, no, kRefused, {}},
      {{2}, -1, no, kRefused, {}},
      {{2}, 2'000'000'000, no, kAllowed, {}},
      {{2}, no, 0, kRefused, {}},
      {{2}, no, 2'000'000'000, kAllowed, {}},
      {{0, 0}, no, no, kRefused, {}},
      {{0, 2}, no, no, kRefused, {2}},
      {{}, 1, no, kRefused, {}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    const auto nodes = nodes_of(cases[i].slots);
    if (cases[i].expected.empty()) {
      CHECK(failure_of([&] { place(nodes, spec_of(cases[i])); }).kind() == ErrorKind::usage);
      continue;
    }
    std::vector<int> counts;
    int next = 0;
    for (const NodeRanks& node : place(nodes, spec_of(cases[i]))) {
      counts.push_back(node.count);
      CHECK(node.first == next);
      next += node.count;
    }
    CHECK(counts == cases[i].expected);
  }
}

TEST_CASE("a refusal says what there is and what would help") {
  const auto nodes = nodes_of({2, 2});
  JobSpec spec{.name = {"j"}, .argv = {"x"}, .ranks = 5};
  CHECK(std::string(failure_of([&] { place(nodes, spec); }).what()) ==
        "5 ranks do not fit on 2 nodes: there are slots for 4 (use --oversubscribe to run them "
        "anyway)");
  spec.per = RankUnit::core;
  CHECK(std::string(failure_of([&] { place(nodes, spec); }).what()).find("there are cores for 4") !=
        std::string::npos);
}

TEST_CASE("a hostfile has a line for each node, in order") {
  const std::vector<HostfileEntry> entries = {{"10.0.0.2", 4}, {"10.0.0.3", 1}};
  CHECK(hostfile(entries) == "10.0.0.2 slots=4\n10.0.0.3 slots=1\n");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
