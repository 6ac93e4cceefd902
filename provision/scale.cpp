// Adding, removing and replacing nodes.
#include <set>

#include "base/contains.hpp"
#include "base/counted.hpp"
#include "base/fault_point.hpp"
#include "provision/bring_up.hpp"
#include "provision/guard_end.hpp"
#include "provision/held_cluster.hpp"
#include "provision/ids.hpp"
#include "provision/journal.hpp"
#include "provision/late_machines.hpp"
#include "provision/lifecycle.hpp"
#include "provision/open_bakes.hpp"
#include "provision/take_down.hpp"
#include "provision/undo.hpp"

namespace fastgpu::provision {
namespace {

using state::Node;
using state::NodeState;

void mark_running(const Tools& tools, const state::Cluster& cluster, std::vector<Node>& nodes) {
  for (Node& node : nodes)
    node.state = NodeState::running;
  tools.store.atomically([&] {
    for (const Node& node : nodes)
      tools.store.put_node(node);
    close_node_intents(tools.store, cluster.id, nodes);
  });
  drop_host_keys(tools.store.directory(), cluster.id);
  for (const Node& node : nodes)
    tools.events.node_changed(node);
}

/// Returns `count` nodes more than the `present` ones, with the lowest free indexes. That of a node
/// that was given up a moment ago is not free while its machine may still appear.
std::vector<Node> further_nodes(const Tools& tools, Provider& provider,
                                const state::Cluster& cluster, const std::vector<Node>& present,
                                int count) {
  std::set<int> taken = indexes_of_late_machines(tools.store, cluster.id);
  for (const Node& node : present)
    taken.insert(node.index);
  return new_nodes(tools, provider, cluster, provider.new_indexes(cluster, taken, count));
}

void add_nodes(const Tools& tools, const HeldCluster& held, int count) {
  const state::Cluster& cluster = held.cluster();
  Provider& provider = held.provider();
  provider.check_usable();
  std::vector<Node> nodes =
      further_nodes(tools, provider, cluster, tools.store.nodes(cluster.id), count);
  HostKeys keys;
  make_keys(tools, cluster, nodes, provider.host_key_use(), keys);
  write_down(tools, nodes, keys);
  try {
    bring_up(tools, provider, cluster, nodes, keys);
    mark_running(tools, cluster, nodes);
  } catch (const Error& e) {
    throw_undone(e.during("adding nodes to cluster '" + cluster.name.value + "'"),
                 "`fastgpu gc` removes it", [&] {
                   take_down_nodes(tools, provider, cluster, nodes);
                   return "";
                 });
  }
}

/// Replaces nodes under the same names and indexes, with new keys. Nodes that are not available
/// stay lost.
void replace_nodes(const Tools& tools, const HeldCluster& held, std::vector<Node> nodes) {
  const state::Cluster& cluster = held.cluster();
  Provider& provider = held.provider();
  provider.check_usable();
  for (Node& node : nodes) {
    node.state = NodeState::creating;
    node.token = new_token();
    node.host_keys.clear();
    node.instance_id.clear();
    node.address.clear();
    node.private_address.clear();
  }
  HostKeys keys;
  make_keys(tools, cluster, nodes, provider.host_key_use(), keys);
  write_down(tools, nodes, keys, kReplaceNode);
  try {
    bring_up(tools, provider, cluster, nodes, keys);
    mark_running(tools, cluster, nodes);
  } catch (const Error& e) {
    throw_undone(e.during("replacing lost nodes of cluster '" + cluster.name.value + "'"),
                 "`fastgpu gc` removes it", [&] {
                   lose_nodes(tools, provider, cluster, nodes);
                   return "";
                 });
  }
}

/// Removes the nodes with the highest indexes, recorded as deleting.
void remove_nodes(const Tools& tools, const HeldCluster& held, std::size_t keep,
                  const OnCommitted& on_committed) {
  std::vector<Node> nodes = tools.store.nodes(held.cluster().id);
  nodes.erase(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(keep));
  check_not_baking(tools.store, held.cluster(), nodes, "removing");
  tools.cancel.check();
  if (on_committed) on_committed();
  tools.store.atomically([&] {
    for (Node& node : nodes) {
      node.state = NodeState::deleting;
      tools.store.put_node(node);
      open_node_intent(tools.store, node, kDeleteNode);
    }
  });
  fault_point("provision:marked");
  run_step(tools, "removing " + counted(nodes.size(), "node"),
           [&] { take_down_nodes(tools, held.provider(), held.cluster(), nodes); });
}

void check_may_grow(const Tools& tools, const ClusterView& view, std::size_t wanted) {
  if (wanted <= view.nodes.size()) return;
  check_guards_let_run(tools.store, view,
                       tools.providers(view.cluster.provider).price_per_hour(view.cluster));
  if (view.cluster.state == state::ClusterState::running) return;
  throw Error(ErrorKind::conflict,
              "cluster '" + view.cluster.name.value + "' does not run on all its nodes: `" +
                  start_command(view.cluster.name, view.nodes) + "` before adding nodes");
}

}  // namespace

Scaling plan_scale(const Tools& tools, const ClusterName& name, int nodes) {
  check_node_count(nodes);
  const ClusterView view = look_before_change(tools, name);
  const auto wanted = static_cast<std::size_t>(nodes);
  check_may_grow(tools, view, wanted);
  Scaling scaling{.cluster = view.cluster};
  for (std::size_t i = wanted; i < view.nodes.size(); ++i)
    scaling.removed.push_back(view.nodes[i]);
  if (wanted <= view.nodes.size()) return scaling;
  Provider& provider = tools.providers(view.cluster.provider);
  provider.check_usable();
  scaling.added = further_nodes(tools, provider, view.cluster, view.nodes,
                                static_cast<int>(wanted - view.nodes.size()));
  return scaling;
}

ClusterView scale_cluster(const Tools& tools, const ClusterName& name, int nodes,
                          const OnCommitted& on_committed) {
  check_node_count(nodes);
  const HeldCluster held(tools, name);
  ClusterView before = held.look();
  store_nodes(tools, before.nodes);
  const auto wanted = static_cast<std::size_t>(nodes);
  check_may_grow(tools, before, wanted);
  if (wanted > before.nodes.size())
    add_nodes(tools, held, static_cast<int>(wanted - before.nodes.size()));
  if (wanted < before.nodes.size()) remove_nodes(tools, held, wanted, on_committed);
  ClusterView after = held.look_after_change();
  tools.store.update_cluster(after.cluster);
  return after;
}

ClusterView replace_lost_nodes(const Tools& tools, const ClusterName& name) {
  const HeldCluster held(tools, name);
  ClusterView view = held.look();
  store_nodes(tools, view.nodes);
  if (contains(view.nodes, NodeState::lost, &Node::state))
    check_guards_let_run(tools.store, view, held.provider().price_per_hour(held.cluster()));
  std::erase_if(view.nodes, [](const Node& node) { return node.state != NodeState::lost; });
  if (!view.nodes.empty()) replace_nodes(tools, held, std::move(view.nodes));
  ClusterView after = held.look_after_change();
  tools.store.update_cluster(after.cluster);
  return after;
}

}  // namespace fastgpu::provision
