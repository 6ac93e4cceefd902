#include "cli/workflows/remote_target.hpp"

#include <algorithm>
#include <vector>

#include "cli/workflows/absent_nodes.hpp"
#include "cli/workflows/cluster_hosts.hpp"
#include "cli/workflows/contact.hpp"
#include "cli/workflows/lookup.hpp"

namespace fastgpu::cli {
namespace {

/// Returns tools that wait if another fastgpu process is meeting the cluster's nodes.
provision::Tools patient_tools(Services& services) {
  provision::Tools tools = services.tools();
  tools.deadline = tools.clock.now() + kDefaultTimeout;
  tools.lock_timeout = kDefaultTimeout;
  return tools;
}

void refuse_absent(Services& services, const RemoteTarget& target) {
  for (const state::Node& node : target.nodes) {
    if (node.state == state::NodeState::running) continue;
    refuse_ended(services, target.cluster);
    throw Error(ErrorKind::conflict,
                absence_of(target.cluster, node, change_of(services.store(), target.cluster.name)));
  }
}

/// Leaves out the nodes that are being created or deleted, with a note.
void leave_out_changing(Services& services, RemoteTarget& target) {
  const auto is_changing = [](const state::Node& node) {
    return node.state == state::NodeState::creating || node.state == state::NodeState::deleting;
  };
  const bool has_others = !std::ranges::all_of(target.nodes, is_changing);
  if (!has_others || !std::ranges::any_of(target.nodes, is_changing)) return;
  const ClusterChange change = change_of(services.store(), target.cluster.name);
  for (const state::Node& node : target.nodes)
    if (is_changing(node))
      services.messages().note("without " + node.name.value + ": " +
                               absence_of(target.cluster, node, change));
  std::erase_if(target.nodes, is_changing);
}

/// Throws that no node of the cluster runs. `first` is one of its nodes; null if it has none.
[[noreturn]] void refuse_empty(Services& services, const state::Cluster& cluster,
                               const state::Node* first) {
  const ClusterChange change = change_of(services.store(), cluster.name);
  const std::string whole = absence_of(cluster, change);
  if (!whole.empty()) throw Error(ErrorKind::conflict, whole);
  const std::string name = "cluster " + cluster.name.value;
  if (first == nullptr) throw Error(ErrorKind::conflict, name + " has no nodes yet");
  refuse_ended(services, cluster);
  throw Error(ErrorKind::conflict,
              name + " has no running nodes: " + absence_of(cluster, *first, change));
}

void leave_out_absent(std::vector<state::Node>& nodes) {
  std::erase_if(nodes,
                [](const state::Node& node) { return node.state != state::NodeState::running; });
}

}  // namespace

RemoteTarget running_nodes(Services& services, std::string_view text, Access access,
                           Absent absent) {
  const Target target = find_target(services, text);
  RemoteTarget out;
  out.cluster = find_cluster(services, target.cluster);
  out.nodes = find_nodes(services, out.cluster, target.node_set);
  const bool is_whole_cluster = target.node_set.empty();
  if (absent == Absent::noted && is_whole_cluster) leave_out_changing(services, out);
  if (absent != Absent::left_out) refuse_absent(services, out);
  const std::vector<state::Node> wanted = out.nodes;
  leave_out_absent(out.nodes);
  if (out.nodes.empty())
    refuse_empty(services, out.cluster, wanted.empty() ? nullptr : &wanted.front());
  if (complete_first_contact(services, patient_tools(services), out.cluster, out.nodes)) {
    out.nodes = find_nodes(services, out.cluster, target.node_set);
    leave_out_absent(out.nodes);
  }
  const ClusterHosts where(services.store(), out.cluster);
  for (const state::Node& node : out.nodes)
    out.hosts.push_back(where.of(node));
  if (access == Access::modify) out.heartbeat = start_heartbeat(services, out.cluster);
  return out;
}

std::vector<launcher::NodeSlots> slots_of(const std::vector<state::Node>& nodes) {
  std::vector<launcher::NodeSlots> slots;
  for (const state::Node& node : nodes)
    slots.push_back({node.name, node.slots});
  return slots;
}

}  // namespace fastgpu::cli
