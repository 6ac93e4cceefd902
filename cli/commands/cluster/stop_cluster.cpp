#include <algorithm>

#include "base/join.hpp"
#include "cli/commands/cluster/change_cluster.hpp"
#include "cli/commands/cluster/unfinished_change.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/dry_run.hpp"
#include "cli/program/consent.hpp"
#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/image_baking.hpp"
#include "cli/workflows/lookup.hpp"
#include "provision/lifecycle.hpp"

namespace fastgpu::cli {
namespace {

int plan_stop(Context& context, const Names& names) {
  Names steps;
  for (const std::string& name : names) {
    const auto view =
        provision::look_before_change(context.tools(), find_cluster(context, name).name);
    const Nodes running = in_state(view.nodes, state::NodeState::running);
    add_job_steps(context, steps, view.cluster, running, QueuedJobs::stay);
    add_bake_steps(context, steps, view.cluster, running);
    add_steps(steps, "stop node", running);
  }
  return show_dry_run(context.ui(), "stop cluster", joined(names), steps);
}

/// Returns true if the clusters may be stopped. Asks only if jobs run on them; otherwise nothing is
/// lost.
bool may_stop(Context& context, const ChangeOptions& options, const Names& names) {
  if (has_consent(context, options.yes)) {
    for (const state::Cluster& cluster : known_clusters(context, names))
      note_jobs_that_end(context, cluster, context.store().nodes(cluster.id), QueuedJobs::stay,
                         "stopping the cluster");
    return true;
  }
  const auto affected = affected_by(context, names);
  if (std::ranges::all_of(affected, [](const Affected& one) { return one.jobs.running.empty(); }))
    return true;
  if (consents(context, options.yes, question_of("Stop", affected))) return true;
  context.ui().note("nothing stopped");
  return false;
}

provision::ClusterView stop_one(Context& context, const ChangeOptions& options,
                                const std::string& given) {
  const ClusterName name = find_cluster(context, given).name;
  const std::string command = "fastgpu stop cluster " + name.value;
  const UnfinishedChange change = {name, "stopped", command, command};
  return continued_by(context, change, [&] {
    const provision::Tools tools = tools_for(context, options);
    put_bakes_back(context, tools, name);
    auto view =
        in_time(context, tools.deadline, [&] { return provision::stop_cluster(tools, name); });
    keep_guards(context, name, GuardUpdate::changed, Scope::cloud_only);
    return view;
  });
}

int run_stop(Context& context, const ChangeOptions& options) {
  const Names names = wanted_names(context, options, "stop cluster");
  if (options.dry_run) return plan_stop(context, names);
  if (!may_stop(context, options, names)) return 1;
  if (names.size() != 1)
    return for_each_cluster(context, names, "results", "stopped",
                            [&](const std::string& name) { stop_one(context, options, name); });
  const provision::ClusterView view = stop_one(context, options, names.front());
  show_cluster(context, view);
  context.ui().next_steps({provision::start_command(view.cluster.name, view.nodes)});
  return 0;
}

}  // namespace

Action make_stop_cluster_command(Arguments& arguments) {
  const auto options = describe_several_clusters(arguments);
  describe_consent(arguments, options->yes);
  return [options](Context& context) { return run_stop(context, *options); };
}

}  // namespace fastgpu::cli
