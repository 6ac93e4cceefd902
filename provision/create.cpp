// Creating a cluster.
#include "base/fault_point.hpp"
#include "provision/bring_up.hpp"
#include "provision/gather.hpp"
#include "provision/held_cluster.hpp"
#include "provision/ids.hpp"
#include "provision/journal.hpp"
#include "provision/lifecycle.hpp"
#include "provision/providers.hpp"
#include "provision/settle.hpp"
#include "provision/shared_network.hpp"
#include "provision/take_down.hpp"
#include "provision/takeover.hpp"
#include "provision/undo.hpp"
#include "state/reserve.hpp"

namespace fastgpu::provision {
namespace {

using state::Cluster;
using state::ClusterState;
using state::Node;
using state::NodeState;

FoundCluster find(const Tools& tools, const ClusterSpec& spec) {
  FoundCluster found{.cluster = tools.store.find_cluster(spec.name)};
  if (!found.cluster) return found;
  Provider& provider = tools.providers(found.cluster->provider);
  found.nodes = tools.store.nodes(found.cluster->id);
  found.instances = provider.list(*found.cluster, tools.cancel);
  if (found.cluster->provider == spec.provider)
    found.difference = provider.difference(*found.cluster, spec.provider_spec);
  return found;
}

/// Puts the cluster on record before anything of it exists.
Cluster begin(const Tools& tools, const ClusterSpec& spec) {
  Cluster cluster{.id = new_cluster_id(),
                  .name = spec.name,
                  .provider = spec.provider,
                  .state = ClusterState::creating,
                  .slots = spec.slots,
                  .user = spec.user,
                  .provider_spec = spec.provider_spec,
                  .guards = spec.guards,
                  .scheduler = spec.scheduler,
                  .network = {},
                  .created = std::chrono::system_clock::now()};
  tools.store.atomically([&] {
    tools.store.insert_cluster(cluster);
    open_cluster_intent(tools.store, cluster, kCreateCluster);
  });
  fault_point("provision:begun");
  return cluster;
}

/// Returns true if the keys of an earlier run are complete: only with them can its work be resumed.
bool can_resume(const Tools& tools, const FoundCluster& found) {
  const auto keys = read_host_keys(tools.store.directory(), found.cluster->id);
  if (!keys || found.nodes.empty()) return false;
  for (const Node& node : found.nodes)
    if (!keys->contains(node.token)) return false;
  return authorized_key(tools.store.directory(), found.cluster->id).has_value();
}

/// Returns tools whose deadline does not count the time since `began`, which was spent on finding
/// machines.
Tools waiting_from_now(const Tools& tools, Clock::time_point began) {
  Tools later = tools;
  if (later.deadline != Clock::time_point::max()) later.deadline += tools.clock.now() - began;
  return later;
}

/// Makes the nodes. A machine that does not start is replaced at the same place; if that fails
/// again, the cluster moves to its next place.
void make_nodes(const Tools& tools, Provider& provider, const ClusterSpec& spec, Until until,
                ClusterView& view) {
  Cluster& cluster = view.cluster;
  std::vector<Node>& nodes = view.nodes;
  HostKeys keys = read_host_keys(tools.store.directory(), cluster.id).value_or(HostKeys{});
  const bool may_be_there = !nodes.empty();
  if (!may_be_there) {
    const auto indexes = provider.new_indexes(cluster, {}, spec.nodes);
    std::vector<Node> fresh = new_nodes(tools, provider, cluster, indexes);
    make_keys(tools, cluster, fresh, provider.host_key_use(), keys);
    write_down(tools, fresh, keys);
    nodes = std::move(fresh);
  }
  const auto began = tools.clock.now();
  gather(tools, provider, spec.holding, cluster, nodes, keys, may_be_there);
  if (until == Until::accepted) return;
  for (bool is_second_try = false;; is_second_try = !is_second_try) {
    try {
      make_ours(waiting_from_now(tools, began), provider, cluster, nodes);
      return;
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::capacity) throw;
      if (!is_second_try)
        tools.events.replacing(e.what());
      else if (move_on(tools, provider, cluster, nodes))
        tools.events.moving_on(e.what());
      else
        throw;
    }
    gather_again(tools, provider, spec.holding, cluster, nodes, keys);
  }
}

void finish(const Tools& tools, Until until, ClusterView& view) {
  view.cluster.state = ClusterState::running;
  for (Node& node : view.nodes)
    node.state = NodeState::running;
  tools.store.atomically([&] {
    for (const Node& node : view.nodes)
      tools.store.put_node(node);
    tools.store.update_cluster(view.cluster);
    close_node_intents(tools.store, view.cluster.id, view.nodes);
    close_cluster_intents(tools.store, view.cluster, kCreateCluster);
    if (until == Until::nodes_answer) return;
    for (const Node& node : view.nodes)
      open_node_intent(tools.store, node, kMeetNode);
  });
  fault_point("provision:finished");
  drop_host_keys(tools.store.directory(), view.cluster.id);
  for (const Node& node : view.nodes)
    tools.events.node_changed(node);
}

/// Keeps the nodes so far on record; the cluster is degraded.
void keep(const Tools& tools, Cluster cluster) {
  std::vector<Node> nodes = tools.store.nodes(cluster.id);
  cluster.state = ClusterState::degraded;
  for (Node& node : nodes)
    node.state = NodeState::lost;
  tools.store.atomically([&] {
    for (const Node& node : nodes)
      tools.store.put_node(node);
    tools.store.update_cluster(cluster);
    close_node_intents(tools.store, cluster.id, nodes);
    close_cluster_intents(tools.store, cluster, kCreateCluster);
  });
}

[[noreturn]] void give_up(const Tools& tools, Provider& provider, Cluster cluster,
                          OnFailure on_failure, const Error& reason) {
  const std::string name = cluster.name.value;
  const std::string way_out = "`fastgpu delete cluster " + name + "` removes it";
  throw_undone(reason.during("creating cluster '" + name + "'"), way_out, [&]() -> std::string {
    if (on_failure == OnFailure::keep) {
      destroy_strays(tools, provider, cluster);
      keep(tools, cluster);
      return "; the incomplete cluster is kept: " + way_out;
    }
    mark_deleting(tools, cluster);
    // The command's deadline may have passed, and is no reason to leave machines.
    if (const auto stays = finish_delete(tools, provider, cluster, Clock::time_point::max()))
      throw Error(*stays);
    return {};
  });
}

void report_shared_network(const Tools& tools, const ClusterSpec& spec) {
  const std::string warning = shared_network_warning(tools.store, spec);
  if (!warning.empty()) tools.events.network_shared(warning);
}

}  // namespace

ClusterPlan plan_cluster(const Tools& tools, const ClusterSpec& spec) {
  check_spec(spec);
  check_provider_name(spec.provider);
  const FoundCluster found = find(tools, spec);
  if (!found.cluster) check_name_is_free(tools.store, spec.name);
  if (found.cluster) require_ours(*found.cluster, found.instances);
  ClusterPlan plan = make_plan(spec, found);
  if (plan.kind == PlanKind::unchanged) return plan;
  state::require_room(tools.store.directory());
  tools.providers(spec.provider).check_usable();
  report_shared_network(tools, spec);
  return plan;
}

CreateResult create_cluster(const Tools& tools, const ClusterSpec& spec, OnFailure on_failure,
                            Until until) {
  check_spec(spec);
  check_provider_name(spec.provider);
  const state::ClusterLock lock = lock_cluster(tools, spec.name);
  if (const auto cluster = tools.store.find_cluster(spec.name))
    settle_cluster(tools, *cluster, HalfMade::leave);
  FoundCluster found = find(tools, spec);
  if (!found.cluster) check_name_is_free(tools.store, spec.name);
  if (found.cluster) require_ours(*found.cluster, found.instances);
  ClusterPlan plan = make_plan(spec, found);
  Provider& provider = tools.providers(spec.provider);
  // An interrupted trial is continued: its machines become the cluster's or are given back.
  if (found.cluster && unspent_trials(tools.store, found.cluster->id).empty())
    destroy_strays(tools, provider, *found.cluster);
  if (plan.kind == PlanKind::unchanged) return {{*found.cluster, found.nodes}, plan.kind};
  state::require_room(tools.store.directory());
  provider.check_usable();
  if (plan.kind == PlanKind::resume && !can_resume(tools, found)) {
    mark_deleting(tools, *found.cluster);
    if (const auto stays = finish_delete(tools, provider, *found.cluster, tools.deadline))
      throw Error(*stays);
    found = {};
    plan.kind = PlanKind::create;
  }
  report_shared_network(tools, spec);
  ClusterView view{found.cluster ? *found.cluster : begin(tools, spec), found.nodes};
  try {
    make_nodes(tools, provider, spec, until, view);
    tools.cancel.check();
    finish(tools, until, view);
  } catch (const Error& e) {
    const auto on_record = tools.store.find_cluster(view.cluster.id);  // It may have moved on.
    give_up(tools, provider, on_record.value_or(view.cluster), on_failure, e);
  }
  try {
    end_trials(tools, provider, view.cluster);
  } catch (const Error&) {  // They are in the journal: the next command tries again.
  }
  return {std::move(view), plan.kind};
}

}  // namespace fastgpu::provision
