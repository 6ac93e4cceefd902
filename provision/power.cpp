// Starting and stopping a cluster.

#include "base/contains.hpp"
#include "base/counted.hpp"
#include "base/fault_point.hpp"
#include "provision/bring_up.hpp"
#include "provision/failures.hpp"
#include "provision/first_contact.hpp"
#include "provision/guard_end.hpp"
#include "provision/held_cluster.hpp"
#include "provision/journal.hpp"
#include "provision/lifecycle.hpp"
#include "provision/open_bakes.hpp"
#include "provision/undo.hpp"
#include "provision/unmet_nodes.hpp"

namespace fastgpu::provision {
namespace {

using state::Node;
using state::NodeState;

std::vector<Node> nodes_in(const ClusterView& view, NodeState state) {
  std::vector<Node> nodes;
  for (const Node& node : view.nodes)
    if (node.state == state) nodes.push_back(node);
  return nodes;
}

/// Returns the nodes that a start must start, and those whose machines boot already: an earlier
/// start that was interrupted has not waited for them.
std::vector<Node> not_ready(const Tools& tools, const ClusterView& view) {
  const auto unmet = unmet_nodes(tools.store, view.cluster.id);
  std::vector<Node> nodes = nodes_in(view, NodeState::stopped);
  for (const Node& node : view.nodes)
    if (view.booting.contains(node.name) && !unmet.contains(node.name)) nodes.push_back(node);
  return nodes;
}

/// Stops those of `nodes` that a failed start has started: they would be paid for in vain while
/// they wait for the others. Like a creation, it does not heed a cancel or the time limit.
std::string stop_again(const Tools& tools, const HeldCluster& held,
                       const std::vector<Node>& nodes) {
  std::vector<Node> started = held.look_after_change().nodes;
  std::erase_if(started, [&](const Node& node) {
    return node.state != NodeState::running || !contains(nodes, node.name, &Node::name);
  });
  if (started.empty()) return {};
  run_step(tools, "stopping " + counted(started.size(), "node") + " again", [&] {
    const Cancel never;
    std::vector<NodeFailure> failures;
    add_failures(failures, held.provider().stop(held.cluster(), started, never));
    throw_failures("stopping nodes", failures);
  });
  return "; what had started is stopped again";
}

/// Returns true if the place refuses the start for a reason that a repetition meets again: it has
/// no machines, or the account may not start them.
bool is_refusal(const Error& failure) {
  return failure.kind() == ErrorKind::capacity || failure.kind() == ErrorKind::denied;
}

/// Starts as many of the nodes as can be started. Returns the failures of the others. Throws
/// capacity or denied, with the started ones stopped again, if the place refuses some of them.
std::vector<NodeFailure> switch_on(const Tools& tools, const HeldCluster& held,
                                   std::vector<Node>& nodes) {
  std::vector<NodeFailure> failures;
  try {
    const auto results = held.provider().start(held.cluster(), nodes, tools.cancel);
    fault_point("provision:started");
    note_results(tools, nodes, results);
    add_failures(failures, results);
    for (const NodeFailure& failure : failures)
      if (is_refusal(failure.error)) throw_failures("starting nodes", failures);
  } catch (const Error& e) {
    if (!is_refusal(e)) throw;
    throw_undone(e, "`fastgpu stop cluster " + held.cluster().name.value + "` stops it",
                 [&] { return stop_again(tools, held, nodes); });
  }
  return failures;
}

void start_nodes(const Tools& tools, const HeldCluster& held, std::vector<Node> nodes) {
  std::vector<NodeFailure> failures;
  run_step(tools, "starting " + counted(nodes.size(), "node"), [&] {
    failures = switch_on(tools, held, nodes);
    tools.cancel.check();
    std::erase_if(
        nodes, [&](const Node& node) { return contains(failures, node.name, &NodeFailure::node); });
  });
  await_nodes(tools, held.provider(), held.cluster(), nodes);
  throw_failures("starting nodes", failures);
}

/// Mounts storage, also on nodes that were running before: a repeated start completes a mount that
/// failed. Nodes that have not been reached yet get it when they are.
void mount_all(const Tools& tools, const HeldCluster& held) {
  const Storage storage = held.provider().storage(held.cluster());
  if (storage.is_empty()) return;
  std::vector<Node> nodes = nodes_in(held.look(), NodeState::running);
  const auto unmet = unmet_nodes(tools.store, held.cluster().id);
  std::erase_if(nodes, [&](const Node& node) { return unmet.contains(node.name); });
  attach_storage(tools, held.cluster(), nodes, storage);
}

void stop_nodes(const Tools& tools, HeldCluster& held, const std::vector<Node>& nodes) {
  run_step(tools, "stopping " + counted(nodes.size(), "node"), [&] {
    held.let_others_in();
    const auto results = held.provider().stop(held.cluster(), nodes, tools.cancel);
    fault_point("provision:stopped");
    std::vector<NodeFailure> failures;
    add_failures(failures, results);
    tools.cancel.check();
    throw_failures("stopping nodes", failures);
  });
}

/// Stores the state after a change that has failed. If that fails, too, the intent stays open: the
/// next command asks again.
void store_present_state(const HeldCluster& held, std::string_view action) {
  try {
    held.store(held.look_after_change(), action);
  } catch (const Error&) {
    // The first failure is the reason that the user gets.
  }
}

/// Performs `act` under an intent. Whatever its outcome, asks for the present state and stores it.
template <class Action>
ClusterView under_intent(const Tools& tools, const HeldCluster& held, std::string_view action,
                         Action act) {
  open_cluster_intent(tools.store, held.cluster(), action);
  try {
    act();
  } catch (const Error& e) {
    store_present_state(held, action);
    throw e.during(action == kStartCluster
                       ? "starting cluster '" + held.cluster().name.value + "'"
                       : "stopping cluster '" + held.cluster().name.value + "'");
  }
  ClusterView view = held.look_after_change();
  held.store(view, action);
  return view;
}

}  // namespace

ClusterView start_cluster(const Tools& tools, const ClusterName& name) {
  const HeldCluster held(tools, name);
  ClusterView view = held.look();
  const std::vector<Node> stopped = not_ready(tools, view);
  if (stopped.empty()) {
    held.store(view, kStartCluster);
    mount_all(tools, held);
    return view;
  }
  check_guards_let_run(tools.store, view, held.provider().price_per_hour(held.cluster()));
  held.provider().check_usable();
  view = under_intent(tools, held, kStartCluster, [&] { start_nodes(tools, held, stopped); });
  mount_all(tools, held);
  return view;
}

ClusterView stop_cluster(const Tools& tools, const ClusterName& name) {
  HeldCluster held(tools, name);
  ClusterView view = held.look();
  const std::vector<Node> running = nodes_in(view, NodeState::running);
  if (running.empty()) {
    held.store(view, kStopCluster);
    return view;
  }
  check_not_baking(tools.store, held.cluster(), running, "stopping");
  return under_intent(tools, held, kStopCluster, [&] { stop_nodes(tools, held, running); });
}

}  // namespace fastgpu::provision
