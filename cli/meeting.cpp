#include "cli/meeting.hpp"

#include "cli/cluster_tools.hpp"
#include "cli/guarding.hpp"
#include "cli/record.hpp"
#include "provision/first_contact.hpp"

namespace fastgpu::cli {

namespace {

/// Returns those nodes, and the head if the way to them leads through it.
std::vector<state::Node> with_head(const state::Store& store, const state::Cluster& cluster,
                                   std::span<const state::Node> nodes) {
  std::vector<state::Node> all(nodes.begin(), nodes.end());
  const std::vector<state::Node> known = store.nodes(cluster.id);
  if (has_head_alone(cluster) && !known.empty() && known.front().state == state::NodeState::running)
    all.push_back(known.front());
  return all;
}

}  // namespace

bool meet(Context& context, const provision::Tools& tools, const state::Cluster& cluster,
          std::span<const state::Node> nodes) {
  if (provision::unmet_nodes(context.store(), cluster.id).empty()) return false;
  const std::vector<state::Node> needed = with_head(context.store(), cluster, nodes);
  if (!provision::meet_nodes(tools, cluster.name, needed)) return false;
  keep_guards(context, cluster.name, Occasion::changed);
  publish_record(context, cluster.name);
  return true;
}

bool meet(Context& context, const provision::Tools& tools, const state::Cluster& cluster) {
  return meet(context, tools, cluster, context.store().nodes(cluster.id));
}

std::vector<ssh::Host> met_hosts(Context& context, const state::Cluster& cluster,
                                 const std::vector<state::Node>& nodes) {
  const auto unmet = provision::unmet_nodes(context.store(), cluster.id);
  const ClusterHosts where(context.store(), cluster);
  std::vector<ssh::Host> hosts;
  for (const state::Node& node : nodes)
    if (node.state == state::NodeState::running && !unmet.contains(node.name))
      hosts.push_back(where.of(node));
  return hosts;
}

}  // namespace fastgpu::cli
