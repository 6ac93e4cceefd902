#include "provision/settle.hpp"

#include <algorithm>
#include <set>

#include "provision/bring_up.hpp"
#include "provision/journal.hpp"
#include "provision/late_machines.hpp"
#include "provision/observe.hpp"
#include "provision/providers.hpp"
#include "provision/shared_network.hpp"
#include "provision/take_down.hpp"
#include "provision/takeover.hpp"
#include "provision/unmet_nodes.hpp"
#include "state/lock.hpp"

namespace fastgpu::provision {
namespace {

using state::Cluster;
using state::ClusterState;
using state::Node;
using state::NodeState;

/// Takes down the nodes that a killed scaling left half-made or half-removed. A node that should
/// have replaced a lost one becomes lost again.
void take_down_unfinished(const Tools& tools, Provider& provider, const Cluster& cluster,
                          std::vector<Settled>& done) {
  std::set<std::string> replaced;
  for (const state::Intent& intent : our_intents(tools.store, cluster.id))
    if (intent.action == kReplaceNode) replaced.insert(intent.subject);
  std::vector<Node> unfinished;
  std::vector<Node> lost;
  for (const Node& node : tools.store.nodes(cluster.id))
    if (replaced.contains(node.name.value))
      lost.push_back(node);
    else if (node.state == NodeState::creating || node.state == NodeState::deleting)
      unfinished.push_back(node);
  take_down_nodes(tools, provider, cluster, unfinished);
  for (const Node& node : unfinished)
    done.push_back({cluster.name.value, "removed unfinished node " + node.name.value});
  lose_nodes(tools, provider, cluster, lost);
  for (const Node& node : lost)
    done.push_back({cluster.name.value, "gave up replacing node " + node.name.value});
}

/// Asks for the present state after a start or stop that was killed, and stores it.
void look_again(const Tools& tools, Provider& provider, const Cluster& cluster,
                std::vector<Settled>& done) {
  const ClusterView view =
      observe({cluster, tools.store.nodes(cluster.id)}, provider.list(cluster, tools.cancel),
              just_asked_for(tools.store, cluster.id));
  tools.store.atomically([&] {
    for (const Node& node : view.nodes)
      tools.store.put_node(node);
    tools.store.update_cluster(view.cluster);
    for (const state::Intent& intent : our_intents(tools.store, cluster.id)) {
      if (intent.action == kTryPlace || intent.action == kLateMachine) continue;
      done.push_back(
          {cluster.name.value, "updated its state after an unfinished " + intent.action});
      tools.store.close_intent(intent.id);
    }
  });
}

/// Returns the change that could not be settled, and what that may cost.
std::string unsettled_text(const Tools& tools, const Cluster& cluster) {
  if (is_remainder(tools.store, cluster)) return "could not finish its deletion";
  const std::string costs = is_cloud(cluster.provider) ? "its machines may still run and cost money"
                                                       : "its nodes may still run";
  switch (cluster.state) {
    case ClusterState::creating:
      return "could not roll its unfinished creation back: " + costs;
    case ClusterState::deleting:
      return "could not finish its deletion: " + costs;
    case ClusterState::running:
    case ClusterState::stopped:
    case ClusterState::degraded:
      return "could not finish an interrupted change: " + costs;
  }
  return {};
}

}  // namespace

std::vector<Settled> settle_cluster(const Tools& tools, const Cluster& cluster,
                                    HalfMade half_made) {
  if (our_intents(tools.store, cluster.id).empty()) return {};
  if (cluster.state == ClusterState::creating && half_made == HalfMade::leave) return {};
  Provider& provider = tools.providers(cluster.provider);
  require_ours(tools, cluster);
  std::vector<Settled> done;
  if (cluster.state == ClusterState::creating || cluster.state == ClusterState::deleting) {
    const bool was_creating = cluster.state == ClusterState::creating;
    Cluster doomed = cluster;
    mark_deleting(tools, doomed);
    if (const auto stays = finish_delete(tools, provider, doomed, tools.deadline))
      throw Error(*stays);
    done.push_back({cluster.name.value, was_creating ? "rolled its unfinished creation back"
                                                     : "finished its deletion"});
    return done;
  }
  end_trials(tools, provider, cluster);
  end_late_machines(tools, provider, cluster);
  take_down_unfinished(tools, provider, cluster, done);
  look_again(tools, provider, cluster, done);
  return done;
}

std::vector<Settled> settle_unless_in_use(const Tools& tools, const state::ClusterId& id,
                                          HalfMade half_made) {
  std::optional<Cluster> cluster = tools.store.find_cluster(id);
  if (!cluster) return {};
  const ClusterName name = cluster->name;
  const auto lock = state::ClusterLock::try_lock(tools.store, name);
  if (!lock) return {};
  // Another run may have finished or renamed it just now.
  cluster = tools.store.find_cluster(id);
  if (!cluster || cluster->name != name) return {};
  try {
    const std::string what = "finishing interrupted changes of cluster " + name.value;
    return ask(tools, what, [&] { return settle_cluster(tools, *cluster, half_made); });
  } catch (const Error& e) {
    if (tools.cancel.requested()) throw;
    return {{cluster->name.value, unsettled_text(tools, *cluster), e}};
  }
}

std::vector<Settled> settle(const Tools& tools, HalfMade half_made) {
  if (!tools.store.writable()) return {};
  std::set<state::ClusterId> unfinished;
  for (const state::Intent& intent : tools.store.open_intents())
    if (is_ours(intent)) unfinished.insert(intent.cluster);
  std::vector<Settled> done;
  for (const state::ClusterId& id : unfinished)
    for (Settled& settled : settle_unless_in_use(tools, id, half_made))
      done.push_back(std::move(settled));
  return done;
}

}  // namespace fastgpu::provision
