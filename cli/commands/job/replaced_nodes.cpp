#include "cli/commands/job/replaced_nodes.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/contains.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "cli/commands/job/own_command.hpp"
#include "cli/workflows/absent_nodes.hpp"
#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/cluster_scheduler.hpp"
#include "cli/workflows/contact.hpp"
#include "cli/workflows/name_folding.hpp"
#include "cli/workflows/record_publisher.hpp"
#include "envs/environments/record.hpp"
#include "provision/lifecycle.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

std::vector<std::string> names_in_state(const std::vector<state::Node>& nodes,
                                        state::NodeState state) {
  std::vector<std::string> names;
  for (const state::Node& node : nodes)
    if (node.state == state) names.push_back(node.name.value);
  return names;
}

/// Returns tools that wait if another process changes the cluster: it may replace the same nodes.
provision::Tools tools_for_replacement(Context& context) {
  provision::Tools tools = context.tools();
  tools.deadline = tools.clock.now() + kDefaultTimeout;
  tools.lock_timeout = kDefaultTimeout;
  return tools;
}

/// Sets up the scheduler on the new machines. A failure is a warning: the job does without it.
void bring_scheduler(Context& context, const state::Cluster& cluster) {
  try {
    arrange_scheduler(context, cluster.name);
  } catch (const Error& e) {
    context.cancel().check();
    context.ui().warn(e.what());
  }
}

std::string environment_of_job(Context& context, const state::Cluster& cluster,
                               const launcher::JobSpec& spec) {
  const auto record =
      envs::read_record(state::cluster_directory(context.state_directory(), cluster.id));
  std::vector<std::pair<std::string, std::string>> runners;
  for (const auto& [name, prefix] : record.prefix)
    runners.emplace_back(name, envs::runner_in(record, name));
  return environment_of_program(spec.argv, runners);
}

/// Copies the environment to the nodes that lack it, by a process of its own: `env create` shows
/// its results, and this process those of the job.
void bring_environment(Context& context, const state::Cluster& cluster, const std::string& name) {
  const std::string& clusters_name = cluster.name.value;
  context.ui().note("copying environment " + name + " to the new machines");
  const int code = run_own_command({"env", "create", name, "--cluster", clusters_name,
                                    "--state-dir", context.state_directory().string()});
  context.cancel().check();
  if (code != 0)
    throw Error(ErrorKind::remote,
                "environment " + name +
                    " cannot be copied to the new machines: fastgpu env create " + name +
                    " --cluster " + clusters_name + " shows why");
}

/// Starts nodes that are stopped while others of their cluster run. Throws conflict while another
/// fastgpu changes the cluster: it may be stopping the others.
provision::ClusterView start_stopped(Context& context, const provision::Tools& tools,
                                     const state::Cluster& cluster,
                                     const std::vector<std::string>& stopped) {
  const std::string names = fold_names(stopped);
  const bool is_changed = change_of(context.store(), cluster.name) == ClusterChange::in_progress;
  if (is_changed || stopped_alone(provision::look_before_change(tools, cluster.name).nodes).empty())
    throw Error(ErrorKind::conflict,
                names + " is stopped, and another fastgpu changes cluster " + cluster.name.value);
  context.ui().note("starting " + names + ", which was stopped while the others ran");
  return provision::start_cluster(tools, cluster.name);
}

/// Throws conflict, with the remedy, if the nodes of the cluster are stopped: a user has stopped
/// it.
void refuse_stopped(Context& context, const provision::ClusterView& view) {
  for (const state::Node& node : view.nodes)
    if (node.state == state::NodeState::stopped)
      throw Error(ErrorKind::conflict,
                  absence_of(view.cluster, node, change_of(context.store(), view.cluster.name)));
}

}  // namespace

std::string environment_of_program(
    const std::vector<std::string>& argv,
    const std::vector<std::pair<std::string, std::string>>& runners) {
  const auto found = std::ranges::find_if(
      runners, [&](const auto& one) { return !argv.empty() && one.second == argv.front(); });
  return found == runners.end() ? "" : found->first;
}

std::vector<std::string> stopped_alone(const std::vector<state::Node>& nodes) {
  const bool is_any_running = !names_in_state(nodes, state::NodeState::running).empty();
  return is_any_running ? names_in_state(nodes, state::NodeState::stopped)
                        : std::vector<std::string>();
}

std::vector<NodeName> replace_for_job(Context& context, const state::Cluster& cluster,
                                      const launcher::JobSpec& spec) {
  const provision::Tools tools = tools_for_replacement(context);
  auto view = provision::look_before_change(tools, cluster.name);
  auto lost = names_in_state(view.nodes, state::NodeState::lost);
  const auto stopped = stopped_alone(view.nodes);
  if (lost.empty() && stopped.empty()) {
    refuse_stopped(context, view);
    return {};
  }
  if (!stopped.empty()) view = start_stopped(context, tools, cluster, stopped);
  if (!lost.empty()) {
    context.ui().note("creating " + counted(lost.size(), "new machine") + " for " +
                      fold_names(lost));
    view = provision::replace_lost_nodes(tools, cluster.name);
  }
  complete_first_contact(context, tools, view.cluster);
  keep_guards(context, cluster.name, GuardUpdate::changed);
  publish_record(context, cluster.name);
  bring_scheduler(context, cluster);
  const std::string environment = environment_of_job(context, cluster, spec);
  if (!environment.empty()) bring_environment(context, cluster, environment);
  const auto running = names_in_state(context.store().nodes(cluster.id), state::NodeState::running);
  std::vector<NodeName> replaced;
  lost.insert(lost.end(), stopped.begin(), stopped.end());
  for (const std::string& name : lost)
    if (contains(running, name)) replaced.push_back({name});
  return replaced;
}

}  // namespace fastgpu::cli
