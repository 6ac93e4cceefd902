#include "provision/observe.hpp"

#include <algorithm>
#include <utility>

namespace fastgpu::provision {
namespace {

using state::ClusterState;
using state::NodeState;

NodeState observed(NodeState stored, const Instance* instance) {
  if (stored == NodeState::creating || stored == NodeState::deleting) return stored;
  if (instance == nullptr) return NodeState::lost;
  switch (instance->state) {
    case InstanceState::pending:
      return stored == NodeState::stopped ? NodeState::running : stored;
    case InstanceState::running:
      return NodeState::running;
    case InstanceState::stopped:
      return NodeState::stopped;
    case InstanceState::gone:
      return NodeState::lost;
  }
  return stored;
}

/// Returns the index under which the machine of `node` is listed; -1 if it is not listed so.
int listed_index(std::span<const Instance> found, const state::Node& node) {
  if (node.instance_id.empty()) return -1;
  const auto instance = std::ranges::find(found, node.instance_id, &Instance::id);
  return instance == found.end() || !instance->token.empty() ? -1 : instance->index;
}

void exchange_machines(state::Node& a, state::Node& b) {
  std::swap(a.instance_id, b.instance_id);
  std::swap(a.address, b.address);
  std::swap(a.private_address, b.private_address);
  std::swap(a.port, b.port);
}

}  // namespace

void follow_indexes(std::span<state::Node> nodes, std::span<const Instance> found,
                    const std::set<NodeName>& unmet) {
  const auto place_of = [&](const state::Node& node) {
    const int index = listed_index(found, node);
    return index == node.index ? nodes.end() : std::ranges::find(nodes, index, &state::Node::index);
  };
  for (state::Node& node : nodes) {
    // Each exchange puts a machine in its place for good.
    for (auto place = place_of(node); place != nodes.end(); place = place_of(node)) {
      const bool is_taken = listed_index(found, *place) == place->index;
      if (is_taken || !unmet.contains(node.name) || !unmet.contains(place->name)) break;
      exchange_machines(node, *place);
    }
  }
}

bool is_node(const Instance& instance, const state::Node& node) {
  if (!instance.token.empty()) return instance.token == node.token;
  if (!instance.id.empty() && !node.instance_id.empty()) return instance.id == node.instance_id;
  return instance.index == node.index;
}

const Instance* find_instance(std::span<const Instance> instances, const state::Node& node) {
  const auto found =
      std::ranges::find_if(instances, [&](const Instance& i) { return is_node(i, node); });
  return found == instances.end() ? nullptr : &*found;
}

void note_instance(state::Node& node, const Instance& instance) {
  if (!instance.id.empty()) node.instance_id = instance.id;
  if (!instance.private_address.empty()) node.private_address = instance.private_address;
  if (instance.address.empty()) return;
  node.address = instance.address;
  node.port = instance.port;
}

ClusterView observe(ClusterView stored, std::span<const Instance> found,
                    const std::set<NodeName>& just_asked_for) {
  for (state::Node& node : stored.nodes) {
    const Instance* instance = find_instance(found, node);
    if (instance == nullptr && just_asked_for.contains(node.name)) continue;
    node.state = observed(node.state, instance);
    if (instance != nullptr && instance->state == InstanceState::pending)
      stored.booting.insert(node.name);
    // A machine that has ended must not become the machine of a node that has none.
    const bool is_there = instance != nullptr && instance->state != InstanceState::gone;
    if (is_there) note_instance(node, *instance);
  }
  const ClusterState state = stored.cluster.state;
  if (state != ClusterState::creating && state != ClusterState::deleting)
    stored.cluster.state = state_of(stored.nodes);
  return stored;
}

std::map<int, MachineUse> use_in_change(std::span<const state::Node> nodes,
                                        std::span<const Instance> found,
                                        const std::set<NodeName>& just_asked_for) {
  std::map<int, MachineUse> uses;
  for (const state::Node& node : nodes) {
    if (node.state != NodeState::creating && node.state != NodeState::deleting) continue;
    const Instance* instance = find_instance(found, node);
    if (instance == nullptr && just_asked_for.contains(node.name)) continue;
    const bool runs = instance != nullptr && (instance->state == InstanceState::pending ||
                                              instance->state == InstanceState::running);
    uses[node.index] = runs ? MachineUse::runs : MachineUse::is_off;
  }
  return uses;
}

ClusterState state_of(std::span<const state::Node> nodes) {
  const auto all = [&](NodeState state) {
    return std::ranges::all_of(nodes, [&](const state::Node& n) { return n.state == state; });
  };
  if (nodes.empty()) return ClusterState::degraded;
  if (all(NodeState::running)) return ClusterState::running;
  if (all(NodeState::stopped)) return ClusterState::stopped;
  return ClusterState::degraded;
}

std::string start_command(const ClusterName& cluster, std::span<const state::Node> nodes) {
  const bool has_lost =
      std::ranges::find(nodes, NodeState::lost, &state::Node::state) != nodes.end();
  return "fastgpu start cluster " + cluster.value + (has_lost ? " --replace-lost" : "");
}

std::vector<Instance> strays(std::span<const state::Node> nodes, std::span<const Instance> found) {
  std::vector<Instance> result;
  for (const Instance& instance : found) {
    const auto owns = [&](const state::Node& node) { return is_node(instance, node); };
    if (!instance.token.empty() && std::ranges::none_of(nodes, owns)) result.push_back(instance);
  }
  return result;
}

}  // namespace fastgpu::provision
