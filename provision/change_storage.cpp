// Changes of the storage of an existing cluster's nodes.
#include <algorithm>

#include "base/contains.hpp"
#include "base/fault_point.hpp"
#include "provision/bring_up.hpp"
#include "provision/first_contact.hpp"
#include "provision/held_cluster.hpp"
#include "provision/lifecycle.hpp"

namespace fastgpu::provision {
namespace {

using state::Node;
using state::NodeState;

/// Throws if a removed mount concerns a stopped node, which would mount it again.
void check_may_forget(const ClusterView& view, const Storage& before, const Storage& after) {
  const auto is_kept = [&](const Mount& mount) { return contains(after.mounts, mount); };
  if (std::ranges::all_of(before.mounts, is_kept)) return;
  for (const Node& node : view.nodes)
    if (node.state == NodeState::stopped)
      throw Error(ErrorKind::conflict, node.name.value +
                                           " is stopped, and would mount it again: `fastgpu start "
                                           "cluster " +
                                           view.cluster.name.value + "` first");
}

using Change = std::function<void(state::CloudSpec&)>;

/// Returns the cluster with its storage changed. Throws if that is not possible.
state::Cluster changed(const ClusterView& view, const Provider& provider, const Change& change) {
  state::Cluster cluster = view.cluster;
  state::CloudSpec spec = cluster.cloud();
  change(spec);
  cluster.provider_spec = std::move(spec);
  const Storage after = provider.storage(cluster);
  check_storage(after);
  check_may_forget(view, provider.storage(view.cluster), after);
  return cluster;
}

}  // namespace

state::Cluster plan_storage(const Tools& tools, const ClusterName& name, const Change& change) {
  const ClusterView view = look_before_change(tools, name);
  return changed(view, tools.providers(view.cluster.provider), change);
}

state::Cluster change_storage(const Tools& tools, const ClusterName& name, const Change& change) {
  const HeldCluster held(tools, name);
  ClusterView view = held.look();
  state::Cluster cluster = changed({held.cluster(), view.nodes}, held.provider(), change);
  const Storage after = held.provider().storage(cluster);
  tools.store.update_cluster(cluster);
  fault_point("provision:storage_written");
  const auto unmet = unmet_nodes(tools.store, cluster.id);  // They get it when they are met.
  std::erase_if(view.nodes, [&](const Node& node) {
    return node.state != NodeState::running || unmet.contains(node.name);
  });
  attach_storage(tools, cluster, view.nodes, after);
  return cluster;
}

}  // namespace fastgpu::provision
