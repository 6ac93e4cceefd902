// Deleting a cluster.
#include "provision/held_cluster.hpp"
#include "provision/lifecycle.hpp"
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

}  // namespace

void delete_cluster(const Tools& tools, const ClusterName& name) {
  require_cluster(tools.store, name);
  const state::ClusterLock lock = lock_cluster(tools, name);
  state::Cluster cluster = require_cluster(tools.store, name);
  Provider& provider = tools.providers(cluster.provider);
  const std::shared_ptr<void> held = hold_cluster(tools, cluster);
  require_ours(tools, cluster);
  mark_if_there_is_room(tools, cluster);
  try {
    finish_delete(tools, provider, cluster);
  } catch (const Error& e) {
    throw Error(e.kind(), "deleting cluster '" + name.value + "': " + e.what() +
                              "; `fastgpu delete cluster " + name.value + "` tries again");
  }
}

}  // namespace fastgpu::provision
