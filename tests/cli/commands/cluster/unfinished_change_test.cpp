#include "cli/commands/cluster/unfinished_change.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace fastgpu::cli {
namespace {

using state::NodeState;

std::vector<state::Node> nodes_in(std::initializer_list<NodeState> states) {
  std::vector<state::Node> nodes;
  for (const NodeState one : states)
    nodes.push_back({.state = one});
  return nodes;
}

const state::Cluster kCluster = {.name = {"demo"}};

TEST_SUITE_BEGIN("cli/unfinished_change");

TEST_CASE("what runs after an interrupted change is counted with its price") {
  const auto nodes = nodes_in({NodeState::running, NodeState::stopped, NodeState::running});
  CHECK(running_text(kCluster, nodes, Money{1.06, kUsd}) ==
        "2 of 3 nodes of cluster demo run, for 1.06 USD/h");
  CHECK(running_text(kCluster, nodes, std::nullopt) ==
        "2 of 3 nodes of cluster demo run and may cost money");
  CHECK(running_text(kCluster, nodes, Money{0, kUsd}) == "2 of 3 nodes of cluster demo run");
}

TEST_CASE("nodes that are being made or removed may run, and stopped or lost ones do not") {
  CHECK(running_text(kCluster, nodes_in({NodeState::creating, NodeState::deleting}), {}) ==
        "2 of 2 nodes of cluster demo run and may cost money");
  CHECK(running_text(kCluster, nodes_in({NodeState::stopped, NodeState::lost}), {}) ==
        "0 of 2 nodes of cluster demo run");
  CHECK(running_text(kCluster, nodes_in({NodeState::running}), {}) ==
        "1 of 1 node of cluster demo runs and may cost money");
}

TEST_CASE("a refusal by the place may leave nodes after a start, and not after a change of size") {
  const UnfinishedChange start = {{"demo"}, "started", "start it", "stop it"};
  const UnfinishedChange scale = {{"demo"}, "scaled", "scale it"};
  CHECK(may_leave_nodes(start, ErrorKind::capacity));
  CHECK(may_leave_nodes(start, ErrorKind::denied));
  CHECK_FALSE(may_leave_nodes(scale, ErrorKind::capacity));
  CHECK(may_leave_nodes(scale, ErrorKind::timeout));
  CHECK(may_leave_nodes(scale, ErrorKind::interrupted));
  CHECK_FALSE(may_leave_nodes(start, ErrorKind::conflict));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::cli
