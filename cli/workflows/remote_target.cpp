#include "cli/workflows/remote_target.hpp"

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

}  // namespace

RemoteTarget running_nodes(Services& services, std::string_view text, Access access) {
  const Target target = find_target(services, text);
  RemoteTarget out;
  out.cluster = find_cluster(services, target.cluster);
  out.nodes = find_nodes(services, out.cluster, target.node_set);
  for (const state::Node& node : out.nodes) {
    if (node.state != state::NodeState::running)
      throw Error(ErrorKind::conflict,
                  node.name.value + " is " + std::string(state::to_string(node.state)) +
                      ": start it with: fastgpu start cluster " + target.cluster);
  }
  if (out.nodes.empty())
    throw Error(ErrorKind::conflict, "cluster " + target.cluster + " has no nodes yet");
  if (complete_first_contact(services, patient_tools(services), out.cluster, out.nodes))
    out.nodes = find_nodes(services, out.cluster, target.node_set);
  const ClusterHosts where(services.store(), out.cluster);
  for (const state::Node& node : out.nodes)
    out.hosts.push_back(where.of(node));
  if (access == Access::modify) out.heartbeat = start_heartbeat(services, out.cluster);
  return out;
}

}  // namespace fastgpu::cli
