#include "provision/first_contact.hpp"

#include <algorithm>

#include "base/contains.hpp"
#include "base/fault_point.hpp"
#include "provision/bring_up.hpp"
#include "provision/guard_end.hpp"
#include "provision/held_cluster.hpp"
#include "provision/journal.hpp"
#include "provision/lifecycle.hpp"
#include "provision/machine_watch.hpp"

namespace fastgpu::provision {
namespace {

using state::Node;
using state::NodeState;

/// Returns those of `wanted` that have not been reached yet, in their present state.
std::vector<Node> unmet_among(const state::Store& store, const ClusterView& view,
                              std::span<const Node> wanted) {
  const auto unmet = unmet_nodes(store, view.cluster.id);
  std::vector<Node> nodes;
  std::ranges::copy_if(view.nodes, std::back_inserter(nodes), [&](const Node& node) {
    return unmet.contains(node.name) && contains(wanted, node.name, &Node::name);
  });
  return nodes;
}

void check_running(const state::Cluster& cluster, std::span<const Node> nodes) {
  for (const Node& node : nodes) {
    if (node.state == NodeState::lost) throw gone_machine(node);
    if (node.state == NodeState::stopped)
      throw Error(ErrorKind::conflict, node.name.value + " is stopped: `fastgpu start cluster " +
                                           cluster.name.value + "` starts it");
  }
}

/// Adds a remedy: machines that did not start are not replaced here.
Error with_way_out(const state::Cluster& cluster, const Error& e) {
  if (e.kind() != ErrorKind::capacity) return e;
  return {e.kind(), std::string(e.what()) + ": `fastgpu start cluster " + cluster.name.value +
                        " --replace-lost` makes another"};
}

}  // namespace

bool meet_nodes(const Tools& tools, const ClusterName& name, std::span<const Node> wanted) {
  if (unmet_nodes(tools.store, require_cluster(tools.store, name).id).empty()) return false;
  const HeldCluster held(tools, name);
  const ClusterView view = held.look();
  store_nodes(tools, view.nodes);  // The connection to one node may go through another.
  std::vector<Node> nodes = unmet_among(tools.store, view, wanted);
  if (nodes.empty()) return false;
  check_not_ended(tools.store, view, held.provider().price_per_hour(view.cluster));
  try {
    check_running(view.cluster, nodes);
    make_ours(tools, held.provider(), view.cluster, nodes);
  } catch (const Error& e) {
    throw with_way_out(view.cluster, e);
  }
  close_node_intents(tools.store, view.cluster.id, nodes);
  fault_point("provision:met");
  for (const Node& node : nodes)
    tools.events.node_changed(node);
  return true;
}

}  // namespace fastgpu::provision
