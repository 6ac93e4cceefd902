#include <chrono>
#include <optional>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/show/description_parts.hpp"
#include "cli/commands/show/descriptions.hpp"
#include "cli/commands/show/node_jobs.hpp"
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

/// Returns the jobs that run on the node, as its nodes see them now.
std::vector<NodeJob> jobs_now(Context& context, const state::Node& node,
                              const std::optional<state::Cluster>& cluster) {
  if (!cluster) return {};
  std::vector<state::Job> jobs = context.store().jobs();
  std::erase_if(jobs, [&](const state::Job& job) { return jobs_on(node, {&job, 1}).empty(); });
  for (state::Job& job : jobs)
    job = wanted_jobs(context, {job.id}).front().job;
  return jobs_on(node, jobs);
}

}  // namespace

Action make_describe_node_command(Arguments& arguments) {
  const auto options = describe_name(arguments, "The node, or CLUSTER/NODE", Values::node);
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
    note_silences(context, shown);  // The node has just been asked.
    fields.update(silence_fields(shown, node));
    fields.update(rdma_fields(report));
    fields.update(gpu_fields(report));
    const auto jobs = jobs_now(context, node, cluster);
    fields["jobs"] = node_jobs_document(jobs);
    View view = view_of_one("node", fields, node.name.value);
    view.described = description_of(node, shown, report, std::chrono::system_clock::now());
    put_part(view.described, "jobs", node_jobs_table(jobs));
    context.ui().show(view);
    return 0;
  };
}

}  // namespace fastgpu::cli
