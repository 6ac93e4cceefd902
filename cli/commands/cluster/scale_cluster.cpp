#include <algorithm>

#include "base/counted.hpp"
#include "cli/commands/cluster/change_cluster.hpp"
#include "cli/commands/cluster/plan_table.hpp"
#include "cli/commands/cluster/unfinished_change.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/dry_run.hpp"
#include "cli/program/consent.hpp"
#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/cluster_scheduler.hpp"
#include "cli/workflows/contact.hpp"
#include "cli/workflows/image_baking.hpp"
#include "cli/workflows/left_on_hosts.hpp"
#include "cli/workflows/lookup.hpp"
#include "cli/workflows/record_publisher.hpp"
#include "provision/lifecycle.hpp"
#include "provision/open_bakes.hpp"
#include "provision/providers.hpp"
#include "state/lock.hpp"

namespace fastgpu::cli {
namespace {

/// Returns the nodes that scaling down to `wanted` nodes removes: the last ones.
Nodes last_nodes(const Nodes& nodes, std::size_t wanted) {
  return {nodes.begin() + static_cast<std::ptrdiff_t>(std::min(wanted, nodes.size())), nodes.end()};
}

/// Shows the type and the price of the new machines. Asks nothing, because the user typed
/// the number of nodes.
void show_cost_of_more(Context& context, const state::Cluster& cluster, int count) {
  if (!provision::is_cloud(cluster.provider)) return;
  const CloudPlan plan = plan_of_more(context, cluster);
  context.ui().note_table(plan_table(plan, count));
  context.ui().note("adding " + counted(count, "node") + " to cluster " + cluster.name.value +
                    " for " + plan_price(plan, count));
}

int plan_scale(Context& context, const ClusterName& name, std::size_t wanted) {
  const auto scaling = provision::plan_scale(context.tools(), name, static_cast<int>(wanted));
  std::vector<std::string> steps;
  add_job_steps(context, steps, scaling.cluster, scaling.removed, QueuedJobs::end);
  add_bake_steps(context, steps, scaling.cluster, scaling.removed);
  add_steps(steps, "delete node", scaling.removed);
  add_steps(steps, "create node", scaling.added);
  if (!scaling.added.empty())
    show_cost_of_more(context, scaling.cluster, static_cast<int>(scaling.added.size()));
  return show_dry_run(context.ui(), "scale cluster", name.value, steps);
}

bool may_remove(Context& context, const ChangeOptions& options, const state::Cluster& cluster,
                std::size_t wanted) {
  const Nodes nodes = last_nodes(context.store().nodes(cluster.id), wanted);
  if (has_consent(context, options.yes)) {
    note_jobs_that_end(context, cluster, nodes, QueuedJobs::end,
                       "removing the last " + counted(nodes.size(), "node"));
    return true;
  }
  const std::string jobs = jobs_text(jobs_on(context, cluster, nodes, JobSource::nodes));
  if (consents(context, options.yes,
               "Delete the last " + counted(nodes.size(), "node") + " of cluster " + options.name +
                   (jobs.empty() ? "" : " (" + jobs + ")") + "?"))
    return true;
  context.ui().note("nothing deleted");
  return false;
}

/// Scales the cluster from `present` nodes to `wanted`.
provision::ClusterView scale(Context& context, const ChangeOptions& options,
                             const state::Cluster& cluster, std::size_t present,
                             std::size_t wanted) {
  const provision::Tools tools = tools_for(context, options);
  if (wanted > present) {
    // Refuses before a price is shown. While another fastgpu changes the cluster, its state is no
    // reason to refuse: scale_cluster waits for that one.
    if (state::ClusterLock::try_lock(context.store(), cluster.name))
      in_time(context, tools.deadline,
              [&] { return provision::plan_scale(tools, cluster.name, *options.nodes); });
    show_cost_of_more(context, cluster, static_cast<int>(wanted - present));
  }
  const Nodes leaving = last_nodes(context.store().nodes(cluster.id), wanted);
  if (!leaving.empty()) {
    put_bakes_back(context, tools, cluster.name);
    provision::check_not_baking(context.store(), cluster, leaving, "removing");
    stop_leaving_jobs(context, cluster, leaving, "its cluster was scaled down");
    remove_scheduler(context, cluster, leaving);
    deactivate_on_leaving(context, cluster, in_state(leaving, state::NodeState::running));
  }
  const auto view = in_time(context, tools.deadline, [&] {
    return provision::scale_cluster(tools, cluster.name, *options.nodes, [&] {
      context.set_stop_notice("finishing the removal of " + counted(leaving.size(), "node") +
                              "; Ctrl-C again leaves it half done");
    });
  });
  if (wanted > present) complete_first_contact(context, tools, cluster);
  keep_guards(context, cluster.name, GuardUpdate::changed);
  publish_record(context, cluster.name);
  arrange_scheduler(context, cluster.name);
  return view;
}

int run_scale(Context& context, const ChangeOptions& options) {
  if (!options.nodes) throw Error(ErrorKind::usage, "scale cluster: --nodes is missing");
  const state::Cluster cluster = find_cluster(context, options.name);
  const std::size_t present = context.store().nodes(cluster.id).size();
  const auto wanted = static_cast<std::size_t>(*options.nodes);
  if (options.dry_run) return plan_scale(context, cluster.name, wanted);
  if (wanted < present && !may_remove(context, options, cluster, wanted)) return 1;
  const std::string& name = cluster.name.value;
  const UnfinishedChange change = {cluster.name, "scaled",
                                   "fastgpu scale cluster " + name + " --nodes " +
                                       std::to_string(wanted) + (wanted < present ? " --yes" : "")};
  const auto view = continued_by(context, change,
                                 [&] { return scale(context, options, cluster, present, wanted); });
  show_cluster(context, view);
  if (wanted > present) show_environments_to_bring(context, cluster);
  return 0;
}

}  // namespace

Action make_scale_cluster_command(Arguments& arguments) {
  const auto options = describe_one_cluster(arguments);
  Argument& nodes = arguments.count("--nodes", "N", "New number of nodes", options->nodes, 1,
                                    provision::kMostNodes);
  nodes.letter = "-n";
  describe_consent(arguments, options->yes);
  return [options](Context& context) { return run_scale(context, *options); };
}

}  // namespace fastgpu::cli
