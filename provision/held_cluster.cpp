#include "provision/held_cluster.hpp"

#include <utility>

#include "base/fault_point.hpp"
#include "provision/journal.hpp"
#include "provision/lifecycle.hpp"
#include "provision/settle.hpp"
#include "provision/takeover.hpp"
#include "provision/unmet_nodes.hpp"

namespace fastgpu::provision {

namespace {

/// Locks a cluster, without making a lock file for an unused name.
state::ClusterLock lock_existing(const Tools& tools, const ClusterName& name) {
  require_cluster(tools.store, name);
  return lock_cluster(tools, name);
}

}  // namespace

state::Cluster require_cluster(const state::Store& store, const ClusterName& name) {
  if (auto cluster = store.find_cluster(name)) return *std::move(cluster);
  std::vector<std::string> names;
  for (const state::Cluster& cluster : store.clusters())
    names.push_back(cluster.name.value);
  std::string message = "there is no cluster '" + printable(name.value) + "'";
  const std::string nearest = nearest_name(name.value, names);
  if (!nearest.empty()) message += ", did you mean '" + nearest + "'?";
  throw Error(ErrorKind::not_found, message);
}

HeldCluster::HeldCluster(const Tools& tools, const ClusterName& name)
    : tools_(tools),
      lock_(lock_existing(tools, name)),
      cluster_(require_cluster(tools.store, name)),
      held_(hold_cluster(tools, cluster_)) {
  settle_cluster(tools, cluster_, HalfMade::leave);
  cluster_ = require_cluster(tools.store, name);
  check_is_made(cluster_);
}

ClusterView HeldCluster::look_after_change() const {
  const Cancel never;
  return look(never);
}

ClusterView HeldCluster::look(const Cancel& cancel) const {
  const auto found = provider().list(cluster_, cancel);
  require_ours(cluster_, found);
  std::vector<state::Node> nodes = tools_.store.nodes(cluster_.id);
  follow_indexes(nodes, found, unmet_nodes(tools_.store, cluster_.id));
  return observe({cluster_, std::move(nodes)}, found, just_asked_for(tools_.store, cluster_.id));
}

void HeldCluster::store(const ClusterView& view, std::string_view action) const {
  tools_.store.atomically([&] {
    for (const state::Node& node : view.nodes)
      tools_.store.put_node(node);
    tools_.store.update_cluster(view.cluster);
    close_cluster_intents(tools_.store, view.cluster, action);
  });
  for (const state::Node& node : view.nodes)
    tools_.events.node_changed(node);
}

}  // namespace fastgpu::provision
