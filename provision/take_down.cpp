#include "provision/take_down.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "base/fault_point.hpp"
#include "base/join.hpp"
#include "provision/bring_up.hpp"
#include "provision/cluster_keys.hpp"
#include "provision/failures.hpp"
#include "provision/journal.hpp"
#include "provision/late_machines.hpp"
#include "provision/observe.hpp"
#include "provision/shared_network.hpp"

namespace fastgpu::provision {
namespace {

using state::ClusterState;
using state::Node;
using state::NodeState;

/// Returns those among `nodes` that are gone according to `results`.
std::vector<Node> gone(const std::vector<Node>& nodes,
                       const std::vector<HostResult<Instance>>& results) {
  std::vector<Node> ended;
  for (const HostResult<Instance>& result : results) {
    const auto node = std::ranges::find(nodes, result.host, &Node::name);
    if (result.ok() && node != nodes.end()) ended.push_back(*node);
  }
  return ended;
}

/// Returns a machine as a node, so that it can be destroyed like one.
Node node_of(const state::Cluster& cluster, const Instance& instance) {
  Node node{.cluster = cluster.id, .index = instance.index, .token = instance.token};
  node.name = {"stray machine " + instance.id};
  note_instance(node, instance);
  return node;
}

std::chrono::milliseconds time_left(const Tools& tools, Clock::time_point deadline) {
  using std::chrono::milliseconds;
  if (deadline == Clock::time_point::max()) return milliseconds::max();
  return std::chrono::floor<milliseconds>(deadline - tools.clock.now());
}

/// Reports the remains, in one sentence for any number of nodes.
void tell_what_is_left(const Tools& tools, const std::vector<HostResult<Instance>>& results) {
  std::string sentence;
  std::string others;
  for (const HostResult<Instance>& result : results) {
    if (!result.ok() || result.value().left_behind.empty()) continue;
    if (sentence.empty())
      sentence = result.value().left_behind;
    else
      append_item(others, result.host.value);
  }
  if (!others.empty()) sentence += " (and so on " + others + ")";
  if (!sentence.empty()) tools.events.left_behind(sentence);
}

}  // namespace

void take_down_nodes(const Tools& tools, Provider& provider, const state::Cluster& cluster,
                     const std::vector<Node>& nodes) {
  if (nodes.empty()) return;
  fault_point("provision:destroy");
  const auto results = provider.destroy(cluster, nodes);
  fault_point("provision:destroyed");
  const std::vector<Node> ended = gone(nodes, results);
  tools.store.atomically([&] {
    for (const Node& node : ended)
      tools.store.erase_node(cluster.id, node.index);
    close_node_intents(tools.store, cluster.id, ended);
    if (provider.lists_late()) expect_late_machines(tools, ended);
  });
  tell_what_is_left(tools, results);
  std::vector<NodeFailure> failures;
  add_failures(failures, results);
  throw_failures("destroying nodes", failures);
}

void lose_nodes(const Tools& tools, Provider& provider, const state::Cluster& cluster,
                std::vector<Node> nodes) {
  if (nodes.empty()) return;
  const auto results = provider.destroy(cluster, nodes);
  fault_point("provision:destroyed");
  std::vector<Node> ended = gone(nodes, results);
  tools.store.atomically([&] {
    for (Node& node : ended) {
      node.state = NodeState::lost;
      node.instance_id.clear();
      tools.store.put_node(node);
    }
    close_node_intents(tools.store, cluster.id, ended);
    if (provider.lists_late()) expect_late_machines(tools, ended);
  });
  std::vector<NodeFailure> failures;
  add_failures(failures, results);
  throw_failures("destroying nodes", failures);
}

int destroy_strays(const Tools& tools, Provider& provider, const state::Cluster& cluster) {
  std::vector<Node> lost;
  const Cancel never;
  for (const Instance& stray : strays(tools.store.nodes(cluster.id), provider.list(cluster, never)))
    lost.push_back(node_of(cluster, stray));
  if (lost.empty()) return 0;
  std::vector<NodeFailure> failures;
  add_failures(failures, provider.destroy(cluster, lost));
  throw_failures("destroying stray machines", failures);
  return static_cast<int>(lost.size());
}

void end_trials(const Tools& tools, Provider& provider, const state::Cluster& cluster) {
  std::vector<state::Intent> trials = our_intents(tools.store, cluster.id);
  std::erase_if(trials, [](const state::Intent& intent) { return intent.action != kTryPlace; });
  if (trials.empty()) return;
  destroy_strays(tools, provider, cluster);
  const auto now = std::chrono::system_clock::now();
  for (const state::Intent& trial : trials)
    if (now - trial.opened >= kUnlistedAtMost) tools.store.close_intent(trial.id);
}

void erase_record(const Tools& tools, const state::Cluster& cluster) {
  tools.store.atomically([&] {
    for (const state::Intent& intent : tools.store.open_intents(cluster.id))
      tools.store.close_intent(intent.id);
    tools.store.erase_cluster(cluster.id);
  });
  fault_point("provision:erased");
}

void mark_deleting(const Tools& tools, state::Cluster& cluster) {
  if (cluster.state == ClusterState::deleting) return;
  tools.store.atomically([&] {
    state::Cluster marked = cluster;
    marked.state = ClusterState::deleting;
    tools.store.update_cluster(marked);
    open_cluster_intent(tools.store, marked, kDeleteCluster);
    for (Node node : tools.store.nodes(cluster.id)) {
      node.state = NodeState::deleting;
      tools.store.put_node(node);
      open_node_intent(tools.store, node, kDeleteNode);
    }
  });
  cluster.state = ClusterState::deleting;
  fault_point("provision:marked");
}

std::optional<Error> finish_delete(const Tools& tools, Provider& provider,
                                   const state::Cluster& cluster, Clock::time_point deadline) {
  const std::vector<Node> nodes = tools.store.nodes(cluster.id);
  const auto users = others_in_network(tools.store, cluster);
  ReleaseLimits limits{.in_all = time_left(tools, deadline)};
  // Waiting is for interfaces of machines that have just ended, and of no use against others.
  if (nodes.empty() || !users.empty()) limits.network = {};
  std::optional<Error> stays;
  const std::string step =
      nodes.empty() ? "tidying up" : "deleting " + counted(nodes.size(), "node");
  run_step(tools, step, [&] {
    take_down_nodes(tools, provider, cluster, nodes);
    stays = provider.release(cluster, limits);
    if (stays) return;
    fault_point("provision:released");
    remove_key_files(tools.store.directory(), cluster.id);
    fault_point("provision:files_removed");
    erase_record(tools, cluster);
  });
  return stays ? std::optional(network_stays(cluster, users, *stays)) : std::nullopt;
}

}  // namespace fastgpu::provision
