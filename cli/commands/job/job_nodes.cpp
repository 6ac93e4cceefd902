#include "cli/commands/job/job_nodes.hpp"

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "cli/commands/cluster/check_view.hpp"
#include "cli/commands/job/host_choice.hpp"
#include "cli/commands/job/own_command.hpp"
#include "cli/workflows/cluster_checks.hpp"
#include "cli/workflows/cluster_scheduler.hpp"
#include "cli/workflows/job_queue.hpp"
#include "cli/workflows/lookup.hpp"
#include "cli/workflows/remote_target.hpp"
#include "launcher/engines/slurm.hpp"
#include "launcher/host_list.hpp"
#include "launcher/recovery.hpp"

namespace fastgpu::cli {
namespace {

std::string cluster_of_job(Context& context, const RunJobOptions& options,
                           const launcher::JobFile& file) {
  return usual_cluster(
      context, options.cluster.empty() ? file.cluster.value_or("") : options.cluster, "run job");
}

/// Returns the names of the nodes that the array of this process's job has lost.
std::vector<std::string> lost_of_array(Context& context) {
  std::vector<std::string> names;
  std::istringstream text(context.environment()(kWithoutNodes).value_or(""));
  for (std::string name; std::getline(text, name, ',');)
    names.push_back(name);
  return names;
}

void leave_out(RemoteTarget& target, const std::vector<std::string>& names) {
  for (std::size_t i = target.nodes.size(); i-- > 0;) {
    if (!contains(names, target.nodes[i].name.value)) continue;
    target.nodes.erase(target.nodes.begin() + static_cast<std::ptrdiff_t>(i));
    target.hosts.erase(target.hosts.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

RemoteTarget target_of_job(Context& context, const RunJobOptions& options,
                           const launcher::JobFile& file, Absent absent) {
  const std::string cluster = cluster_of_job(context, options, file);
  if (options.hosts.empty()) return running_nodes(context, cluster, Access::modify, absent);
  auto hosts = launcher::parse_host_list(options.hosts);
  if (cluster.find('/') != std::string::npos)
    throw Error(ErrorKind::usage, "run job: give the nodes by -H or by --cluster, not by both");
  hosts =
      with_node_names(std::move(hosts), find_nodes(context, find_cluster(context, cluster), ""));
  std::string names;
  for (const launcher::NodeSlots& host : hosts)
    append_item(names, host.name.value, ",");
  RemoteTarget all = running_nodes(context, cluster + "/" + names, Access::modify, absent);
  RemoteTarget target{
      .cluster = all.cluster, .nodes = {}, .hosts = {}, .heartbeat = std::move(all.heartbeat)};
  for (const launcher::NodeSlots& host : hosts) {
    for (state::Node node : find_nodes(context, all.cluster, host.name.value)) {
      const auto known = std::ranges::find(all.nodes, node.name, &state::Node::name);
      if (known == all.nodes.end()) continue;
      if (host.slots != launcher::kSlotsOfNode) node.slots = host.slots;
      target.hosts.push_back(all.hosts.at(static_cast<std::size_t>(known - all.nodes.begin())));
      target.nodes.push_back(std::move(node));
    }
  }
  return target;
}

RemoteTarget target_of_element(Context& context, const RunJobOptions& options,
                               const launcher::JobFile& file, const launcher::JobSpec& spec) {
  if (spec.engine != launcher::EngineKind::mpirun) return target_of_job(context, options, file);
  RemoteTarget left = target_of_job(context, options, file, Absent::left_out);
  leave_out(left, lost_of_array(context));
  if (launcher::fits_without(slots_of(left.nodes), {}, spec)) return left;
  return target_of_job(context, options, file);
}

launcher::JobRecord submitted_on(const RemoteTarget& target, launcher::JobSpec spec) {
  if (has_own_slurm(target.cluster))
    spec = launcher::within_slots(std::move(spec), slots_of(target.nodes));
  const int ranks = launcher::slurm_ranks(spec);
  return {.spec = std::move(spec),
          .placement = {{.node = target.nodes.front().name, .first = 0, .count = ranks}}};
}

void enter_environment(const std::string& name, EnvCluster& cluster, launcher::JobRecord& job) {
  if (name.empty()) return;
  const RemoteTarget& target = cluster.target();
  std::vector<NodeName> nodes;
  if (job.spec.engine == launcher::EngineKind::slurm && has_own_slurm(target.cluster))
    for (const state::Node& node : target.nodes)  // Slurm chooses among them.
      nodes.push_back(node.name);
  else
    for (const launcher::NodeRanks& ranks : job.placement)
      nodes.push_back(ranks.node);
  job.spec.used_environment = {.name = name, .prefix = cluster.find(name)};
  cluster.require_on(name, nodes);
  if (job.choice)
    std::erase_if(job.choice->nodes, [&](const launcher::NodeSlots& chosen) {
      const auto node = std::ranges::find(target.nodes, chosen.name, &state::Node::name);
      return node == target.nodes.end() || !envs::is_on(cluster.record(), name, node->token);
    });
  job.spec.argv.insert(job.spec.argv.begin(), envs::runner_in(cluster.record(), name));
  job.spec.mpirun_in = envs::programs_in(cluster.record(), name);
}

void require_sound_nodes(Context& context, const RemoteTarget& target,
                         const launcher::JobRecord& record) {
  RemoteTarget used{.cluster = target.cluster, .nodes = {}, .hosts = {}};
  for (std::size_t i = 0; i < target.nodes.size(); ++i)
    if (std::ranges::count(record.placement, target.nodes[i].name, &launcher::NodeRanks::node)) {
      used.nodes.push_back(target.nodes[i]);
      used.hosts.push_back(target.hosts[i]);
    }
  const CheckReport report = check_cluster(context, used);
  for (const launcher::Finding& finding : report.findings) {
    const bool is_error = finding.severity == launcher::Severity::error;
    is_error ? context.ui().fail(line_of(finding)) : context.ui().warn(line_of(finding));
  }
  if (worst_of(report.findings) == "error")
    throw Error(ErrorKind::remote, "the check of the nodes has found " +
                                       counts_of(report.findings) +
                                       ", and the job was not started");
}

}  // namespace fastgpu::cli
