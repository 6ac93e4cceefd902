// The present state of a cluster.
#include "provision/first_contact.hpp"
#include "provision/held_cluster.hpp"
#include "provision/lifecycle.hpp"
#include "provision/takeover.hpp"

namespace fastgpu::provision {
namespace {

bool differs(const ClusterView& a, const ClusterView& b) {
  if (a.cluster.state != b.cluster.state || a.nodes.size() != b.nodes.size()) return true;
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    const state::Node& x = a.nodes[i];
    const state::Node& y = b.nodes[i];
    if (x.state != y.state || x.address != y.address || x.port != y.port ||
        x.private_address != y.private_address || x.instance_id != y.instance_id)
      return true;
  }
  return false;
}

ClusterView stored_view(const Tools& tools, const ClusterName& name) {
  const state::Cluster cluster = require_cluster(tools.store, name);
  return {cluster, tools.store.nodes(cluster.id)};
}

ClusterView seen_now(const Tools& tools, const ClusterView& stored) {
  const state::Cluster& cluster = stored.cluster;
  return observe(stored, tools.providers(cluster.provider).list(cluster),
                 just_asked_for(tools.store, cluster.id));
}

}  // namespace

ClusterView look_before_change(const Tools& tools, const ClusterName& name) {
  const ClusterView stored = stored_view(tools, name);
  const state::Cluster& cluster = stored.cluster;
  check_is_made(cluster);
  if (cluster.state == state::ClusterState::deleting)
    throw Error(ErrorKind::conflict, "cluster '" + name.value + "' is being deleted: `fastgpu " +
                                         "delete cluster " + name.value + "` finishes that");
  const std::vector<Instance> found = tools.providers(cluster.provider).list(cluster);
  require_ours(cluster, found);
  return observe(stored, found, just_asked_for(tools.store, cluster.id));
}

ClusterView refresh_cluster(const Tools& tools, const ClusterName& name) {
  ClusterView stored = stored_view(tools, name);
  ClusterView seen = seen_now(tools, stored);
  if (!differs(stored, seen) || !tools.store.writable()) return seen;
  const auto lock = state::ClusterLock::try_lock(tools.store, name);
  if (!lock) return seen;
  // The second look is under the lock, because an operation may have ended in between.
  stored = stored_view(tools, name);
  seen = seen_now(tools, stored);
  if (!differs(stored, seen)) return seen;
  tools.store.atomically([&] {
    for (const state::Node& node : seen.nodes)
      tools.store.put_node(node);
    tools.store.update_cluster(seen.cluster);
  });
  for (const state::Node& node : seen.nodes)
    tools.events.node_changed(node);
  return seen;
}

}  // namespace fastgpu::provision
