#include "base/counted.hpp"
#include "base/join.hpp"
#include "cli/commands/cluster/change_cluster.hpp"
#include "cli/commands/cluster/plan_table.hpp"
#include "cli/commands/cluster/unfinished_change.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/dry_run.hpp"
#include "cli/workflows/changed_host_keys.hpp"
#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/cluster_scheduler.hpp"
#include "cli/workflows/contact.hpp"
#include "cli/workflows/lookup.hpp"
#include "cli/workflows/record_publisher.hpp"
#include "cli/workflows/static_answers.hpp"
#include "provision/guard_end.hpp"
#include "provision/lifecycle.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

int plan_start(Context& context, const ChangeOptions& options, const Names& names) {
  Names steps;
  for (const std::string& name : names) {
    const auto view =
        provision::look_before_change(context.tools(), find_cluster(context, name).name);
    const Nodes stopped = in_state(view.nodes, state::NodeState::stopped);
    const Nodes lost = in_state(view.nodes, state::NodeState::lost);
    if (!stopped.empty() || (options.replace_lost && !lost.empty())) {
      auto& provider = context.tools().providers(view.cluster.provider);
      provision::check_guards_let_run(context.store(), view, provider.price_per_hour(view.cluster));
      provider.check_usable();
    }
    add_steps(steps, "start node", stopped);
    if (options.replace_lost) add_steps(steps, "create a new machine for lost node", lost);
  }
  return show_dry_run(context.ui(), "start cluster", joined(names), steps);
}

/// Warns of lost nodes. Throws conflict if no node runs because of them: nothing was started.
void tell_lost(Context& context, const provision::ClusterView& view) {
  const std::size_t lost = in_state(view.nodes, state::NodeState::lost).size();
  if (lost == 0) return;
  const std::string& name = view.cluster.name.value;
  const bool is_any_running = !in_state(view.nodes, state::NodeState::running).empty();
  const bool is_one = lost == 1;
  const std::string told = counted(lost, "node") + (is_one ? " is" : " are") + " lost: `" +
                           provision::start_command(view.cluster.name, view.nodes) + "` replaces " +
                           (is_one ? "it" : "them");
  if (!is_any_running) refuse_ended(context, view.cluster);
  if (!is_any_running)
    throw Error(ErrorKind::conflict, "no node of cluster " + name + " runs: " + told);
  context.ui().warn("cluster " + name + ": " + told);
}

/// Shows what the started nodes cost. Asks nothing, because the user agreed to this price
/// at the creation.
void show_cost_of_start(Context& context, const state::Cluster& cluster) {
  if (!provision::is_cloud(cluster.provider)) return;
  const Nodes nodes = context.store().nodes(cluster.id);
  const auto count = static_cast<int>(in_state(nodes, state::NodeState::stopped).size());
  if (count == 0) return;
  const CloudPlan plan = plan_of_more(context, cluster);
  context.ui().note("starting " + counted(count, "node") + " (" + plan.spec.places.front().type +
                    ") for " + plan_price(plan, count));
}

provision::ClusterView start(Context& context, const ChangeOptions& options,
                             const ClusterName& name) {
  const provision::Tools tools = tools_for(context, options);
  auto view =
      in_time(context, tools.deadline, [&] { return provision::start_cluster(tools, name); });
  if (options.accept_host_keys) {
    pin_changed_host_keys(context, tools, name);
    view.nodes = context.store().nodes(view.cluster.id);
  }
  require_static_hosts_answer(context, view.cluster, view.nodes);
  const std::size_t lost = in_state(view.nodes, state::NodeState::lost).size();
  if (options.replace_lost)
    view = in_time(context, tools.deadline,
                   [&] { return provision::replace_lost_nodes(tools, name); });
  else
    tell_lost(context, view);
  if (lost == 0 || options.replace_lost) complete_first_contact(context, tools, view.cluster);
  keep_guards(context, name, GuardUpdate::changed);
  publish_record(context, name);
  arrange_scheduler(context, name);
  if (lost > 0 && options.replace_lost) show_environments_to_bring(context, view.cluster);
  return view;
}

provision::ClusterView start_one(Context& context, const ChangeOptions& options,
                                 const std::string& given) {
  const state::Cluster cluster = find_cluster(context, given);
  const ClusterName& name = cluster.name;
  show_cost_of_start(context, cluster);
  const UnfinishedChange change = {name, "started",
                                   "fastgpu start cluster " + name.value +
                                       (options.replace_lost ? " --replace-lost" : "") +
                                       (options.accept_host_keys ? " --accept-host-keys" : ""),
                                   "fastgpu stop cluster " + name.value};
  return continued_by(context, change, [&] { return start(context, options, name); });
}

int run_start(Context& context, const ChangeOptions& options) {
  const Names names = wanted_names(context, options, "start cluster");
  if (options.dry_run) return plan_start(context, options, names);
  if (names.size() != 1)
    return for_each_cluster(context, names, "results", "started",
                            [&](const std::string& name) { start_one(context, options, name); });
  show_cluster(context, start_one(context, options, names.front()));
  return 0;
}

}  // namespace

Action make_start_cluster_command(Arguments& arguments) {
  const auto options = describe_several_clusters(arguments);
  arguments.flag("--replace-lost", "Create new machines for nodes that are lost",
                 options->replace_lost);
  arguments.flag("--accept-host-keys",
                 "Pin the changed host keys of static hosts, and print both fingerprints",
                 options->accept_host_keys);
  return [options](Context& context) { return run_start(context, *options); };
}

}  // namespace fastgpu::cli
