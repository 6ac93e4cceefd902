// Deleting a cluster.
#include "provision/held_cluster.hpp"
#include "provision/lifecycle.hpp"
#include "provision/providers.hpp"
#include "provision/settle.hpp"
#include "provision/shared_network.hpp"
#include "provision/take_down.hpp"
#include "provision/takeover.hpp"

namespace fastgpu::provision {
namespace {

/// Marks the cluster. If the disk has no room for the mark, the record stays as it was until
/// the nodes are gone. That may make room, and a repetition finds the rest.
void mark_if_there_is_room(const Tools& tools, state::Cluster& cluster) try {
  mark_deleting(tools, cluster);
} catch (const Error& e) {
  if (e.kind() != ErrorKind::capacity) throw;
}

/// Returns the failure with the cluster, what may still cost money, and the way to try again.
Error not_deleted(const Tools& tools, const state::Cluster& cluster, const Error& e) {
  const std::string& name = cluster.name.value;
  const bool has_nodes = !tools.store.nodes(cluster.id).empty();
  const bool costs = has_nodes && is_cloud(cluster.provider);
  return {e.kind(), "deleting cluster '" + name + "': " + e.what() +
                        (costs ? "; its machines may still run and cost money" : "") +
                        "; `fastgpu delete cluster " + name + "` tries again"};
}

/// Locks the cluster. A lock that another command has keeps its own words.
state::ClusterLock lock_to_delete(const Tools& tools, const state::Cluster& cluster) try {
  return lock_cluster(tools, cluster.name);
} catch (const Error& e) {
  if (e.kind() == ErrorKind::conflict || e.kind() == ErrorKind::interrupted) throw;
  throw not_deleted(tools, cluster, e);
}

/// Removes the network of a deleted cluster that was kept only because this cluster was in it.
void remove_freed_network(const Tools& tools, const state::Cluster& cluster) {
  for (const state::Cluster& other : tools.store.clusters()) {
    const bool is_kept = other.id != cluster.id && is_remainder(tools.store, other) &&
                         !network_of(other).empty() && network_of(other) == network_of(cluster);
    if (!is_kept) continue;
    for (const Settled& settled : settle_unless_in_use(tools, other.id, HalfMade::leave))
      if (!settled.outcome.ok()) tools.events.left_behind(settled.outcome.error().what());
  }
}

/// Checks that the cluster is ours. A refusal keeps its own words; a place that cannot be asked is
/// a failure of the deletion.
void check_is_ours(const Tools& tools, const state::Cluster& cluster) try {
  require_ours(tools, cluster);
} catch (const Error& e) {
  if (e.kind() == ErrorKind::conflict || e.kind() == ErrorKind::interrupted) throw;
  throw not_deleted(tools, cluster, e);
}

}  // namespace

void check_may_delete(const Tools& tools, const ClusterName& name) {
  check_is_ours(tools, require_cluster(tools.store, name));
}

void delete_cluster(const Tools& tools, const ClusterName& name, const OnCommitted& on_committed) {
  const state::ClusterLock lock = lock_to_delete(tools, require_cluster(tools.store, name));
  state::Cluster cluster = require_cluster(tools.store, name);
  Provider& provider = tools.providers(cluster.provider);
  const std::shared_ptr<void> held = hold_cluster(tools, cluster);
  check_is_ours(tools, cluster);
  tools.cancel.check();
  if (on_committed) on_committed();
  mark_if_there_is_room(tools, cluster);
  const bool has_nodes = !tools.store.nodes(cluster.id).empty();
  std::optional<Error> stays;
  try {
    stays = finish_delete(tools, provider, cluster, tools.deadline);
  } catch (const Error& e) {
    throw not_deleted(tools, cluster, e);
  }
  // The machines are what was to be deleted. A repeated deletion is meant for the network.
  if (stays && !has_nodes) throw Error(*stays);
  if (stays) tools.events.left_behind(stays->what());
  remove_freed_network(tools, cluster);
}

}  // namespace fastgpu::provision
