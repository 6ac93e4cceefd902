#include <chrono>
#include <optional>

#include "cli/commands/commands.hpp"
#include "cli/commands/show/descriptions.hpp"
#include "cli/commands/show/shown_state.hpp"
#include "cli/workflows/lookup.hpp"
#include "cli/workflows/node_facts.hpp"

namespace fastgpu::cli {
namespace {

/// Returns the present report of a node; absent for a node that does not run.
std::optional<NodeReport> report_of(Context& context, const state::Cluster& cluster,
                                    const state::Node& node) {
  if (node.state != state::NodeState::running) return std::nullopt;
  const auto facts = facts_of(context, cluster, node);
  if (!facts.ok()) return NodeReport{.failure = facts.error().what()};
  NodeReport report{.obstacle = facts.value().rdma_obstacle, .ports = facts.value().rdma_ports};
  if (const auto topology = topology_of(context, cluster, node); topology.ok())
    report.topology = topology.value();
  return report;
}

}  // namespace

Action make_describe_node_command(Arguments& arguments) {
  const auto options =
      describe_name(arguments, "The node, or CLUSTER/NODE", Values::node, Need::required);
  return [options](Context& context) {
    state::Node node = find_node(context, options->name);
    const auto cluster = context.store().find_cluster(node.cluster);
    ClusterAndNodes shown;
    if (cluster) shown = as_it_is(context, *cluster);
    for (const state::Node& found : shown.nodes)
      if (found.index == node.index) node = found;
    Json fields = to_json(node);
    fields["cluster"] = cluster ? cluster->name.value : "";
    if (cluster) fields.update(machine_fields(*cluster));
    const auto report = cluster ? report_of(context, *cluster, node) : std::nullopt;
    fields.update(rdma_fields(report));
    fields.update(gpu_fields(report));
    View view = view_of_one("node", fields, node.name.value);
    view.described = description_of(node, shown, report, std::chrono::system_clock::now());
    context.ui().show(view);
    return 0;
  };
}

}  // namespace fastgpu::cli
