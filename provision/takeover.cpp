#include "provision/takeover.hpp"

#include <algorithm>
#include <filesystem>

#include "base/fault_point.hpp"
#include "base/files.hpp"
#include "base/join.hpp"
#include "provision/bring_up.hpp"
#include "provision/cluster_keys.hpp"
#include "provision/cluster_lock.hpp"
#include "provision/ids.hpp"
#include "provision/journal.hpp"
#include "provision/late_machines.hpp"
#include "provision/lifecycle.hpp"
#include "provision/observe.hpp"
#include "provision/plan.hpp"
#include "provision/take_down.hpp"
#include "provision/unmet_nodes.hpp"
#include "state/directory.hpp"

namespace fastgpu::provision {
namespace {

using state::Node;
using state::NodeState;

bool is_others(const Instance& instance) {
  return !instance.owner.empty();
}

/// Returns "asking aws for the machines of cluster demo".
std::string question_about(const state::Cluster& cluster) {
  return "asking " + cluster.provider + " for the machines of cluster " + cluster.name.value;
}

/// Returns true if a machine of the cluster may be ours. One that was requested a moment ago is,
/// although its cloud may not list it yet.
bool may_be_ours(const state::Store& store, const state::Cluster& cluster,
                 std::span<const Instance> found) {
  const auto is_alive_and_ours = [](const Instance& machine) {
    return machine.state != InstanceState::gone && !is_others(machine);
  };
  if (std::ranges::any_of(found, is_alive_and_ours)) return true;
  const auto unlisted = just_asked_for(store, cluster.id);
  const auto is_awaited = [&](const Node& node) {
    return unlisted.contains(node.name) && find_instance(found, node) == nullptr;
  };
  return std::ranges::any_of(store.nodes(cluster.id), is_awaited) ||
         !indexes_of_late_machines(store, cluster.id).empty();
}

void refuse_unrecorded(const ClusterName& name, std::span<const Instance> machines) {
  if (machines.empty()) return;
  std::string ids;
  for (const Instance& machine : machines)
    append_item(ids, machine.id);
  throw Error(ErrorKind::conflict,
              "the record of cluster '" + name.value + "' does not list " + ids +
                  ", which carry its mark: a change was not finished or not recorded. A fastgpu "
                  "command on the machine that owns the cluster settles it; otherwise "
                  "--end-unrecorded ends these machines");
}

/// Returns a node in the state that a killed scaling leaves.
Node unfinished(const state::Cluster& cluster, const Instance& machine) {
  Node node{.cluster = cluster.id,
            .index = machine.index,
            .name = node_name(cluster.name, machine.index),
            .state = NodeState::deleting,
            .token = new_token(),
            .user = cluster.user,
            .slots = cluster.slots};
  note_instance(node, machine);
  return node;
}

/// Stores the cluster, and erases its earlier nodes and intents.
void put_cluster(state::Store& store, const state::Cluster& cluster) {
  if (!store.find_cluster(cluster.id)) return store.insert_cluster(cluster);
  store.update_cluster(cluster);
  for (const state::Intent& intent : store.open_intents(cluster.id))
    if (is_ours(intent) || intent.action == kMeetNode) store.close_intent(intent.id);
  for (const Node& node : store.nodes(cluster.id))
    store.erase_node(cluster.id, node.index);
}

}  // namespace

bool is_taken(std::span<const Instance> found) noexcept {
  return std::ranges::any_of(found, is_others);
}

std::string note_owner(const Tools& tools, const state::Cluster& cluster,
                       std::span<const Instance> found) {
  const auto file = state::cluster_directory(tools.store.directory(), cluster.id) / "taken-by";
  const std::string known = read_file(file).value_or("");
  const bool is_any_left = std::ranges::any_of(
      found, [](const Instance& machine) { return machine.state != InstanceState::gone; });
  if (!is_any_left) return known;
  const auto taken = std::ranges::find_if(found, is_others);
  const std::string owner = taken == found.end() ? "" : taken->owner;
  if (owner == known || !tools.store.writable()) return owner;
  if (owner.empty()) {
    std::error_code ignored;  // A repetition removes it.
    std::filesystem::remove(file, ignored);
  } else {
    state::make_private_directory(file.parent_path());
    state::write_private_file(file, owner);
  }
  return owner;
}

void require_ours(const state::Cluster& cluster, std::span<const Instance> found) {
  const auto taken = std::ranges::find_if(found, is_others);
  if (taken == found.end()) return;
  const std::string& name = cluster.name.value;
  throw Error(ErrorKind::conflict, "cluster '" + name + "' was taken over by " + taken->owner +
                                       ": `fastgpu attach cluster " + name + " --provider " +
                                       cluster.provider +
                                       "` takes it back, `fastgpu delete cluster " + name +
                                       " --forget` forgets it here");
}

void require_ours(const Tools& tools, const state::Cluster& cluster) {
  require_ours(cluster, ask(tools, question_about(cluster), [&] {
                 return tools.providers(cluster.provider).list(cluster, tools.cancel);
               }));
}

std::optional<Error> check_forgettable(const Tools& tools, const ClusterName& name) {
  const state::Cluster cluster = require_cluster(tools.store, name);
  std::vector<Instance> found;
  try {
    found = ask(tools, question_about(cluster),
                [&] { return tools.providers(cluster.provider).list(cluster, tools.cancel); });
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::denied) throw;
    return e;
  }
  if (may_be_ours(tools.store, cluster, found))
    throw Error(ErrorKind::conflict,
                "cluster '" + name.value +
                    "' has machines that no other state directory owns, and would have no "
                    "owner: `fastgpu delete cluster " +
                    name.value + "` deletes it");
  return std::nullopt;
}

std::optional<Error> forget_cluster(const Tools& tools, const ClusterName& name) {
  require_cluster(tools.store, name);
  const state::ClusterLock lock = lock_cluster(tools, name);
  const state::Cluster cluster = require_cluster(tools.store, name);
  auto unasked = check_forgettable(tools, name);
  remove_key_files(tools.store.directory(), cluster.id);
  fault_point("takeover:files_removed");
  erase_record(tools, cluster);
  return unasked;
}

Recovered recovered(const ClusterRecord& record, std::span<const Instance> found) {
  Recovered all{.nodes = record.nodes};
  for (Node& node : all.nodes) {
    node.state = NodeState::lost;
    for (const Instance& instance : found) {
      if (instance.index != node.index || !instance.token.empty()) continue;
      note_instance(node, instance);
      if (instance.state == InstanceState::running) node.state = NodeState::running;
      if (instance.state == InstanceState::stopped) node.state = NodeState::stopped;
    }
  }
  for (const Instance& instance : found) {
    const bool is_known = std::ranges::any_of(
        record.nodes, [&](const Node& node) { return node.index == instance.index; });
    const bool is_gone = instance.state == InstanceState::gone;
    if (!is_gone && (!is_known || !instance.token.empty())) all.unrecorded.push_back(instance);
  }
  return all;
}

void check_name_for(const state::Store& store, const ClusterName& name,
                    const state::ClusterId& id) {
  const auto other = store.find_cluster(name);
  if (!other || other->id == id) return;
  throw Error(ErrorKind::conflict, "another cluster here is called '" + name.value +
                                       "': give it another name first (`fastgpu rename cluster " +
                                       name.value + " NEW`)");
}

void check_adoptable(const Tools& tools, const ClusterRecord& record,
                     std::span<const Instance> found, Unrecorded unrecorded) {
  const Recovered all = recovered(record, found);
  if (unrecorded == Unrecorded::refuse) refuse_unrecorded(record.cluster.name, all.unrecorded);
  check_name_for(tools.store, record.cluster.name, record.cluster.id);
}

ClusterView adopt_cluster(const Tools& tools, const ClusterRecord& record,
                          std::span<const Instance> found, Unrecorded unrecorded) {
  check_adoptable(tools, record, found, unrecorded);
  Recovered all = recovered(record, found);
  ClusterView view{record.cluster, std::move(all.nodes)};
  view.cluster.state = state_of(view.nodes);
  tools.store.atomically([&] {
    put_cluster(tools.store, view.cluster);
    tools.store.put_runs(view.cluster.id, record.runs);
    for (const Node& node : view.nodes)
      tools.store.put_node(node);
    for (const Instance& machine : all.unrecorded) {
      if (machine.index < 0 || !machine.token.empty()) continue;  // Strays are found by the list.
      const Node node = unfinished(view.cluster, machine);
      tools.store.put_node(node);
      open_node_intent(tools.store, node, kDeleteNode);
    }
  });
  fault_point("takeover:adopted");
  return view;
}

}  // namespace fastgpu::provision
