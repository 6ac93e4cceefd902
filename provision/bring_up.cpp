#include "provision/bring_up.hpp"

#include <algorithm>
#include <set>

#include "base/counted.hpp"
#include "base/fault_point.hpp"
#include "provision/failures.hpp"
#include "provision/ids.hpp"
#include "provision/machine_watch.hpp"
#include "provision/observe.hpp"
#include "provision/plan.hpp"
#include "provision/polling.hpp"

namespace fastgpu::provision {
namespace {

using state::Node;
using state::NodeState;

std::vector<NodeRequest> requests_for(const Tools& tools, const state::Cluster& cluster,
                                      const std::vector<Node>& nodes, const HostKeys& host_keys,
                                      bool may_be_there, Amount amount) {
  const auto authorized = authorized_key(tools.store.directory(), cluster.id);
  if (!authorized)
    throw Error(ErrorKind::local, "the key of cluster '" + cluster.name.value + "' is missing");
  std::vector<NodeRequest> requests;
  for (const Node& node : nodes) {
    const auto pair = host_keys.find(node.token);
    if (pair == host_keys.end())
      throw Error(ErrorKind::local, "the host key of " + node.name.value + " is missing");
    requests.push_back({.index = node.index,
                        .name = node.name,
                        .token = node.token,
                        .host_private_key = pair->second.private_key,
                        .host_public_key = pair->second.public_key,
                        .authorized_key = *authorized,
                        .may_be_there = may_be_there,
                        .all_or_nothing = amount == Amount::all_or_nothing,
                        .instance_id = node.instance_id});
  }
  return requests;
}

template <class T>
void require_all(const Tools& tools, const std::string& doing,
                 const std::vector<HostResult<T>>& results) {
  std::vector<NodeFailure> failures;
  add_failures(failures, results);
  tools.cancel.check();
  throw_failures(doing, failures);
}

/// Returns true if the place has answered a request with such an error: nothing is left of it.
bool is_answer(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
    case ErrorKind::denied:
    case ErrorKind::capacity:
    case ErrorKind::not_found:
    case ErrorKind::conflict:
    case ErrorKind::remote:
      return true;
    case ErrorKind::transient:
    case ErrorKind::timeout:
    case ErrorKind::interrupted:
    case ErrorKind::local:
    case ErrorKind::internal:
      return false;
  }
  return false;
}

bool all_have_addresses(const std::vector<Node>& nodes) {
  return std::ranges::none_of(nodes, [](const Node& node) { return node.address.empty(); });
}

/// Starts machines of an earlier run that have been stopped since, by a reboot for example. The
/// outcome of the start replaces the machine's result.
void wake(const Tools& tools, Provider& provider, const state::Cluster& cluster,
          const std::vector<Node>& nodes, std::vector<HostResult<Instance>>& results) {
  std::vector<Node> sleeping;
  for (const HostResult<Instance>& result : results) {
    if (!result.ok() || result.value().state != InstanceState::stopped) continue;
    for (const Node& node : nodes)
      if (node.name == result.host) sleeping.push_back(node);
  }
  if (sleeping.empty()) return;
  for (Node& node : sleeping)
    for (const HostResult<Instance>& result : results)
      if (result.host == node.name) note_instance(node, result.value());
  for (HostResult<Instance>& woken : provider.start(cluster, sleeping, tools.cancel))
    for (HostResult<Instance>& result : results)
      if (result.host == woken.host) result = woken;
}

/// Polls until every node has an address: some places assign one only after a while. Throws
/// capacity if a machine is gone, timeout after the deadline.
void await_addresses(const Tools& tools, Provider& provider, const state::Cluster& cluster,
                     std::vector<Node>& nodes) {
  Polling polling(
      [&](std::chrono::milliseconds pause, const Cancel&) { tools.clock.sleep(pause); });
  MachineWatch watch(tools.clock);
  std::set<NodeName> unmet;
  for (const Node& node : nodes)
    unmet.insert(node.name);
  while (!all_have_addresses(nodes)) {
    tools.cancel.check();
    const std::vector<Instance> found = provider.list(cluster, tools.cancel);
    follow_indexes(nodes, found, unmet);
    watch.check(nodes, found);
    for (Node& node : nodes)
      if (const Instance* instance = find_instance(found, node)) note_instance(node, *instance);
    if (all_have_addresses(nodes)) break;
    if (tools.clock.now() >= tools.deadline)
      throw Error(ErrorKind::timeout, "not every node had an address in time");
    polling.pause(tools.cancel);
  }
  store_nodes(tools, nodes);
}

/// Waits until every node answers. Throws capacity if a machine ends meanwhile. Only the machines
/// of clouds are looked at: a cloud may take them back, and their addresses then stay silent.
void await_reachable(const Tools& tools, Provider& provider, const state::Cluster& cluster,
                     const std::vector<Node>& nodes) {
  MachineWatch watch(tools.clock);
  const auto look = [&] {
    if (provider.lists_late()) watch.check(nodes, provider.list(cluster, tools.cancel));
  };
  const auto reached = tools.reachability.wait(cluster, nodes, tools.deadline, tools.cancel, look);
  fault_point("provision:reached");
  require_all(tools, "waiting for nodes", reached);
}

NodeSetup& setup_of(const Tools& tools) {
  if (tools.setup == nullptr)
    throw Error(ErrorKind::internal,
                "nodes need host keys or storage, and nothing can set them up");
  return *tools.setup;
}

/// Gives nodes that booted with a shared host key new keys, made on the nodes over a connection
/// that the shared key authenticates. Both keys are pinned until the new one is in use.
void renew_host_keys(const Tools& tools, Provider& provider, const state::Cluster& cluster,
                     std::vector<Node>& nodes) {
  const auto made = setup_of(tools).make_host_keys(cluster, nodes, tools.cancel);
  require_all(tools, "making host keys", made);
  for (Node& node : nodes)
    for (const HostResult<std::string>& key : made)
      if (key.host == node.name && node.host_keys.front() != key.value())
        node.host_keys = {key.value(), node.host_keys.back()};
  store_nodes(tools, nodes);
  fault_point("provision:host_keys_made");
  require_all(tools, "renewing host keys",
              setup_of(tools).show_host_keys(cluster, nodes, tools.cancel));
  for (Node& node : nodes)
    node.host_keys.resize(1);
  fault_point("provision:host_keys_shown");
  await_reachable(tools, provider, cluster, nodes);
  store_nodes(tools, nodes);
}

/// Removes the tokens of nodes whose requests were refused, on record, too: no machine of theirs
/// will appear.
void forget_refused(const Tools& tools, std::vector<Node>& nodes,
                    const std::vector<HostResult<Instance>>& results) {
  tools.store.atomically([&] {
    for (const HostResult<Instance>& result : results) {
      const auto node = std::ranges::find(nodes, result.host, &Node::name);
      if (result.ok() || node == nodes.end() || !is_answer(result.error().kind())) continue;
      if (!node->instance_id.empty()) continue;
      node->token.clear();
      tools.store.put_node(*node);
    }
  });
}

}  // namespace

void store_nodes(const Tools& tools, const std::vector<Node>& nodes) {
  tools.store.atomically([&] {
    for (const Node& node : nodes)
      tools.store.put_node(node);
  });
}

std::vector<Node> new_nodes(const Tools& tools, Provider& provider, const state::Cluster& cluster,
                            std::span<const int> indexes) {
  std::vector<Node> nodes;
  for (const int index : indexes) {
    Node node{.cluster = cluster.id,
              .index = index,
              .name = node_name(cluster.name, index),
              .state = NodeState::creating,
              .token = new_token(),
              .user = cluster.user,
              .slots = cluster.slots};
    provider.describe_node(cluster, node);
    nodes.push_back(std::move(node));
  }
  provider.check_nodes(cluster, nodes, tools.store.nodes(cluster.id), tools.cancel);
  return nodes;
}

void write_down(const Tools& tools, std::vector<Node>& nodes, const HostKeys& host_keys,
                std::string_view action) {
  for (Node& node : nodes)
    if (node.host_keys.empty()) node.host_keys = {host_keys.at(node.token).public_key};
  tools.store.atomically([&] {
    for (const Node& node : nodes) {
      tools.store.put_node(node);
      open_node_intent(tools.store, node, action);
    }
  });
  fault_point("provision:written");
}

void note_results(const Tools& tools, std::vector<Node>& nodes,
                  const std::vector<HostResult<Instance>>& results) {
  tools.store.atomically([&] {
    for (const HostResult<Instance>& result : results) {
      const auto node = std::ranges::find(nodes, result.host, &Node::name);
      if (!result.ok() || node == nodes.end()) continue;
      note_instance(*node, result.value());
      tools.store.put_node(*node);
    }
  });
}

std::vector<HostResult<Instance>> request_nodes(const Tools& tools, Provider& provider,
                                                const state::Cluster& cluster,
                                                const std::vector<Node>& nodes,
                                                const HostKeys& host_keys, bool may_be_there,
                                                Amount amount) {
  const auto requests = requests_for(tools, cluster, nodes, host_keys, may_be_there, amount);
  auto results = provider.create(cluster, requests, tools.cancel);
  wake(tools, provider, cluster, nodes, results);
  return results;
}

void bring_up(const Tools& tools, Provider& provider, const state::Cluster& cluster,
              std::vector<Node>& nodes, const HostKeys& host_keys) {
  run_step(tools, "creating " + counted(nodes.size(), "node"), [&] {
    tools.cancel.check();
    fault_point("provision:create");
    const auto results =
        request_nodes(tools, provider, cluster, nodes, host_keys, true, Amount::all_or_nothing);
    fault_point("provision:created");
    note_results(tools, nodes, results);
    if (provider.lists_late()) forget_refused(tools, nodes, results);
    require_all(tools, "creating nodes", results);
  });
  make_ours(tools, provider, cluster, nodes);
}

void make_ours(const Tools& tools, Provider& provider, const state::Cluster& cluster,
               std::vector<Node>& nodes) {
  await_nodes(tools, provider, cluster, nodes);
  if (provider.host_key_use() == HostKeyUse::first_boot)
    run_step(tools, "giving " + counted(nodes.size(), "node") + " host keys of their own",
             [&] { renew_host_keys(tools, provider, cluster, nodes); });
  if (const Storage storage = provider.storage(cluster); !storage.is_empty())
    attach_storage(tools, cluster, nodes, storage);
}

void attach_storage(const Tools& tools, const state::Cluster& cluster, std::span<const Node> nodes,
                    const Storage& storage) {
  if (nodes.empty()) return;
  run_step(tools, "mounting storage on " + counted(nodes.size(), "node"), [&] {
    require_all(tools, "mounting storage",
                setup_of(tools).attach_storage(cluster, nodes, storage, tools.cancel));
  });
  fault_point("provision:storage_attached");
}

void await_nodes(const Tools& tools, Provider& provider, const state::Cluster& cluster,
                 std::vector<Node>& nodes) {
  run_step(tools, "waiting for " + counted(nodes.size(), "node"), [&] {
    await_addresses(tools, provider, cluster, nodes);
    await_reachable(tools, provider, cluster, nodes);
  });
}

}  // namespace fastgpu::provision
