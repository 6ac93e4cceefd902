#include "cli/workflows/remote_target.hpp"

#include <vector>

#include "cli/workflows/cluster_hosts.hpp"
#include "cli/workflows/contact.hpp"
#include "cli/workflows/lookup.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

/// Returns tools that wait if another fastgpu process is meeting the cluster's nodes.
provision::Tools patient_tools(Services& services) {
  provision::Tools tools = services.tools();
  tools.deadline = tools.clock.now() + kDefaultTimeout;
  tools.lock_timeout = kDefaultTimeout;
  return tools;
}

void refuse_absent(const std::vector<state::Node>& nodes, const std::string& cluster) {
  for (const state::Node& node : nodes)
    if (node.state != state::NodeState::running)
      throw Error(ErrorKind::conflict, node.name.value + " is " +
                                           std::string(state::to_string(node.state)) +
                                           ": start it with: fastgpu start cluster " + cluster);
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
  if (absent == Absent::refused) refuse_absent(out.nodes, target.cluster);
  leave_out_absent(out.nodes);
  if (out.nodes.empty())
    throw Error(ErrorKind::conflict,
                "cluster " + target.cluster +
                    (absent == Absent::refused ? " has no nodes yet" : " has no running nodes"));
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

}  // namespace fastgpu::cli
