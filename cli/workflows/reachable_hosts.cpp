#include "cli/workflows/reachable_hosts.hpp"

#include "cli/workflows/cluster_hosts.hpp"
#include "provision/first_contact.hpp"

namespace fastgpu::cli {

std::vector<ssh::Host> reachable_hosts(Services& services, const state::Cluster& cluster,
                                       const std::vector<state::Node>& nodes) {
  const auto unmet = provision::unmet_nodes(services.store(), cluster.id);
  const ClusterHosts where(services.store(), cluster);
  std::vector<ssh::Host> hosts;
  for (const state::Node& node : nodes)
    if (node.state == state::NodeState::running && !unmet.contains(node.name))
      hosts.push_back(where.of(node));
  return hosts;
}

}  // namespace fastgpu::cli
