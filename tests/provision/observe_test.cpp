// Machines as a cloud lists them, and the nodes that they are.
#include "provision/observe.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

namespace fastgpu::provision {
namespace {

using state::Node;

/// Returns nodes 0 to n-1 with these machines.
std::vector<Node> nodes_with(const std::vector<std::string>& ids) {
  std::vector<Node> nodes;
  for (const std::string& id : ids) {
    const int index = static_cast<int>(nodes.size());
    nodes.push_back({.index = index, .name = {"t-" + std::to_string(index)}, .instance_id = id});
  }
  return nodes;
}

std::set<NodeName> names_of(const std::vector<Node>& nodes) {
  std::set<NodeName> names;
  for (const Node& node : nodes)
    names.insert(node.name);
  return names;
}

std::vector<std::string> ids_of(const std::vector<Node>& nodes) {
  std::vector<std::string> ids;
  for (const Node& node : nodes)
    ids.push_back(node.instance_id);
  return ids;
}

Instance listed(int index, const std::string& id, const std::string& token = "") {
  return {.index = index, .id = id, .token = token};
}

using Ids = std::vector<std::string>;

TEST_SUITE_BEGIN("provision/observe");

TEST_CASE("machines whose ids came in another order become the nodes that the list names") {
  std::vector<Node> nodes = nodes_with({"a", "b", "c", "d"});
  const std::vector<Instance> found = {listed(2, "a"), listed(0, "b"), listed(1, "c")};
  follow_indexes(nodes, found, names_of(nodes));
  CHECK(ids_of(nodes) == Ids{"b", "c", "a", "d"});
}

TEST_CASE("a machine that is listed as gone is lost at once, one that is missing may be new") {
  ClusterView view{{.state = state::ClusterState::running}, nodes_with({"i-0", "i-1"})};
  for (Node& node : view.nodes)
    node.state = state::NodeState::running;
  Instance gone = listed(0, "i-0");
  gone.state = InstanceState::gone;
  const ClusterView seen = observe(view, std::vector{gone}, names_of(view.nodes));
  CHECK(seen.nodes[0].state == state::NodeState::lost);
  CHECK(seen.nodes[1].state == state::NodeState::running);
  CHECK(seen.cluster.state == state::ClusterState::degraded);
  view.nodes[0].instance_id.clear();
  CHECK(observe(view, std::vector{gone}).nodes[0].instance_id.empty());
}

TEST_CASE("a stopped node whose machine boots runs, because it is paid for") {
  ClusterView view{{.state = state::ClusterState::stopped}, nodes_with({"i-0", "i-1"})};
  for (Node& node : view.nodes)
    node.state = state::NodeState::stopped;
  std::vector<Instance> found = {listed(0, "i-0"), listed(1, "i-1")};
  found[0].state = InstanceState::pending;
  found[1].state = InstanceState::stopped;
  const ClusterView seen = observe(view, found);
  CHECK(seen.nodes[0].state == state::NodeState::running);
  CHECK(seen.nodes[1].state == state::NodeState::stopped);
  CHECK(seen.cluster.state == state::ClusterState::degraded);
  CHECK(seen.booting == std::set<NodeName>{{"t-0"}});
}

TEST_CASE("the command that makes all nodes run replaces lost ones") {
  std::vector<Node> nodes = nodes_with({"i-0", "i-1"});
  nodes[0].state = state::NodeState::stopped;
  nodes[1].state = state::NodeState::running;
  CHECK(start_command({"t"}, nodes) == "fastgpu start cluster t");
  nodes[1].state = state::NodeState::lost;
  CHECK(start_command({"t"}, nodes) == "fastgpu start cluster t --replace-lost");
}

TEST_CASE("a listed machine takes its place from one that is not listed yet") {
  std::vector<Node> nodes = nodes_with({"a", "b"});
  nodes[0].address = "198.51.100.1";
  follow_indexes(nodes, std::vector<Instance>{listed(1, "a")}, names_of(nodes));
  CHECK(ids_of(nodes) == Ids{"b", "a"});
  CHECK(nodes[0].address.empty());
  CHECK(nodes[1].address == "198.51.100.1");
}

TEST_CASE("nodes that were reached keep their machines") {
  std::vector<Node> nodes = nodes_with({"a", "b"});
  const std::vector<Instance> found = {listed(1, "a"), listed(0, "b")};
  follow_indexes(nodes, found, {nodes[1].name});
  CHECK(ids_of(nodes) == Ids{"a", "b"});
}

TEST_CASE("machines of unknown nodes, strays and two of one index change nothing") {
  std::vector<Node> nodes = nodes_with({"a", "b"});
  const std::vector<Instance> found = {listed(7, "a"), listed(0, "b", "stray b")};
  follow_indexes(nodes, found, names_of(nodes));
  CHECK(ids_of(nodes) == Ids{"a", "b"});
  const std::vector<Instance> twice = {listed(1, "a"), listed(1, "b")};
  follow_indexes(nodes, twice, names_of(nodes));
  CHECK(ids_of(nodes) == Ids{"a", "b"});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision
