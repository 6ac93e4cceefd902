#include "provision/late_machines.hpp"

#include <algorithm>

#include "provision/failures.hpp"
#include "provision/journal.hpp"
#include "provision/observe.hpp"

namespace fastgpu::provision {
namespace {

using state::Intent;
using state::Node;
using state::NodeState;

/// Returns true if the index of a node that was given up is unused.
bool is_free(std::span<const Node> nodes, int index) {
  const auto node = std::ranges::find(nodes, index, &Node::index);
  return node == nodes.end() || (node->state == NodeState::lost && node->instance_id.empty());
}

std::vector<Node> come(std::span<const Intent> expected, std::span<const Node> nodes,
                       std::span<const Instance> found) {
  std::vector<Node> late;
  for (const Intent& intent : expected)
    for (const Instance& instance : found) {
      const auto* index = std::get_if<state::NodeIndex>(&*intent.detail);
      if (index == nullptr || index->value != instance.index || !is_free(nodes, instance.index) ||
          instance.state == InstanceState::gone)
        continue;
      late.push_back(
          {.cluster = intent.cluster, .index = instance.index, .name = {intent.subject}});
      note_instance(late.back(), instance);
    }
  return late;
}

}  // namespace

void expect_late_machines(const Tools& tools, std::span<const Node> nodes) {
  for (const Node& node : nodes)
    if (node.address.empty() && !(node.token.empty() && node.instance_id.empty()))
      tools.store.open_intent({.id = {},
                               .cluster = node.cluster,
                               .action = std::string(kLateMachine),
                               .subject = node.name.value,
                               .token = node.token,
                               .detail = state::NodeIndex{node.index}});
}

std::set<int> indexes_of_late_machines(const state::Store& store, const state::ClusterId& cluster) {
  const auto now = std::chrono::system_clock::now();
  std::set<int> indexes;
  for (const Intent& intent : our_intents(store, cluster)) {
    if (intent.action != kLateMachine || now - intent.opened >= kUnlistedAtMost) continue;
    if (const auto* index = std::get_if<state::NodeIndex>(&*intent.detail))
      indexes.insert(index->value);
  }
  return indexes;
}

void end_late_machines(const Tools& tools, Provider& provider, const state::Cluster& cluster) {
  std::vector<Intent> expected = our_intents(tools.store, cluster.id);
  std::erase_if(expected, [](const Intent& intent) { return intent.action != kLateMachine; });
  if (expected.empty()) return;
  const auto late =
      come(expected, tools.store.nodes(cluster.id), provider.list(cluster, tools.cancel));
  if (!late.empty()) {
    std::vector<NodeFailure> failures;
    add_failures(failures, provider.destroy(cluster, late));
    throw_failures("ending machines that came late", failures);
  }
  const auto now = std::chrono::system_clock::now();
  for (const Intent& intent : expected)
    if (now - intent.opened >= kUnlistedAtMost) tools.store.close_intent(intent.id);
}

}  // namespace fastgpu::provision
