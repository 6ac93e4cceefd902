// The present state of a cluster.
#include <algorithm>
#include <map>

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

/// The provider's findings about a cluster.
struct Seen {
  ClusterView view;
  /// The uses of machines that are not on record so. A change that was killed leaves such.
  std::map<int, MachineUse> news{};
};

/// Leaves out the uses that are on record.
std::map<int, MachineUse> not_on_record(const std::vector<state::Run>& runs,
                                        std::map<int, MachineUse> uses) {
  std::erase_if(uses, [&](const auto& use) {
    const bool is_open = std::ranges::any_of(
        runs, [&](const state::Run& run) { return run.index == use.first && !run.ended; });
    return is_open == (use.second == MachineUse::runs);
  });
  return uses;
}

Seen seen_now(const Tools& tools, const ClusterView& stored) {
  const state::Cluster& cluster = stored.cluster;
  const std::vector<Instance> found = tools.providers(cluster.provider).list(cluster, tools.cancel);
  const auto unlisted = just_asked_for(tools.store, cluster.id);
  Seen seen{.view = observe(stored, found, unlisted)};
  seen.view.owner = note_owner(tools, cluster, found);
  seen.news =
      not_on_record(tools.store.runs(cluster.id), use_in_change(seen.view.nodes, found, unlisted));
  return seen;
}

bool is_news(const ClusterView& stored, const Seen& seen) {
  return !seen.news.empty() || differs(stored, seen.view);
}

void note_uses(state::Store& store, const state::ClusterId& cluster,
               const std::map<int, MachineUse>& uses) {
  for (const auto& [index, use] : uses)
    if (use == MachineUse::runs)
      store.begin_run(cluster, index);
    else
      store.end_run(cluster, index);
}

}  // namespace

ClusterView look_before_change(const Tools& tools, const ClusterName& name) {
  const ClusterView stored = stored_view(tools, name);
  const state::Cluster& cluster = stored.cluster;
  check_is_made(cluster);
  if (cluster.state == state::ClusterState::deleting)
    throw Error(ErrorKind::conflict, "cluster '" + name.value + "' is being deleted: `fastgpu " +
                                         "delete cluster " + name.value + "` finishes that");
  const std::vector<Instance> found = tools.providers(cluster.provider).list(cluster, tools.cancel);
  require_ours(cluster, found);
  return observe(stored, found, just_asked_for(tools.store, cluster.id));
}

ClusterView refresh_cluster(const Tools& tools, const ClusterName& name) {
  ClusterView stored = stored_view(tools, name);
  Seen seen = seen_now(tools, stored);
  if (!is_news(stored, seen) || !tools.store.writable()) return seen.view;
  const auto lock = state::ClusterLock::try_lock(tools.store, name);
  if (!lock) return seen.view;
  // The second look is under the lock, because an operation may have ended in between.
  stored = stored_view(tools, name);
  seen = seen_now(tools, stored);
  if (!is_news(stored, seen)) return seen.view;
  tools.store.atomically([&] {
    for (const state::Node& node : seen.view.nodes)
      tools.store.put_node(node);
    tools.store.update_cluster(seen.view.cluster);
    note_uses(tools.store, seen.view.cluster.id, seen.news);
  });
  for (const state::Node& node : seen.view.nodes)
    tools.events.node_changed(node);
  return seen.view;
}

}  // namespace fastgpu::provision
