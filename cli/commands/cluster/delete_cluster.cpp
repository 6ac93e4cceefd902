#include <string>
#include <string_view>

#include "base/join.hpp"
#include "cli/commands/cluster/change_cluster.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/dry_run.hpp"
#include "cli/program/consent.hpp"
#include "cli/ui/view.hpp"
#include "cli/workflows/cluster_scheduler.hpp"
#include "cli/workflows/lookup.hpp"
#include "provision/lifecycle.hpp"
#include "provision/takeover.hpp"

namespace fastgpu::cli {
namespace {

/// Shows what was done to one cluster: as a sentence, or as a document of this kind.
void show_done(Context& context, std::string_view kind, const std::string& cluster,
               const std::string& sentence) {
  if (context.ui().for_people()) return context.ui().note(sentence);
  View view;
  view.root = document(kind);
  view.root["cluster"] = cluster;
  view.names = {cluster};
  context.ui().show(view);
}

/// Warns that the machines of a forgotten cluster could not be looked at, and names them.
void warn_of_machines(Ui& ui, const state::Cluster& cluster, const Nodes& nodes,
                      const Error& unasked) {
  std::string ids;
  for (const state::Node& node : nodes)
    if (!node.instance_id.empty()) append_item(ids, node.instance_id);
  ui.warn("the machines of cluster " + cluster.name.value + " were not looked at (" +
          unasked.what() + "): " + (ids.empty() ? "some" : ids) + " of " + cluster.provider +
          " may still run and cost money; unless another machine manages them, end them in the " +
          "cloud's console");
}

/// Removes clusters from this state directory. Their machines belong to other state directories and
/// continue to run.
int run_forget(Context& context, const ChangeOptions& options, const Names& names) {
  if (options.dry_run) {
    Names steps;
    for (const state::Cluster& cluster : known_clusters(context, names)) {
      const auto unasked = provision::check_forgettable(context.tools(), cluster.name);
      if (unasked)
        warn_of_machines(context.ui(), cluster, context.store().nodes(cluster.id), *unasked);
      steps.push_back("forget cluster " + cluster.name.value + "; its machines keep running");
    }
    return show_dry_run(context.ui(), "delete cluster", joined(names), steps);
  }
  const auto forget = [&](const std::string& name) {
    const state::Cluster cluster = find_cluster(context, name);
    const Nodes nodes = context.store().nodes(cluster.id);
    const auto unasked = provision::forget_cluster(tools_for(context, options), cluster.name);
    if (unasked) warn_of_machines(context.ui(), cluster, nodes, *unasked);
    return !unasked;
  };
  if (names.size() != 1) return for_each_cluster(context, names, "forgotten", "forgotten", forget);
  const bool is_checked = forget(names.front());
  show_done(context, "forgotten", names.front(),
            "forgot cluster " + names.front() +
                (is_checked ? "; another machine manages its nodes" : ""));
  return 0;
}

int plan_delete(Context& context, const Names& names) {
  Names steps;
  for (const std::string& name : names) {
    const state::Cluster cluster = find_cluster(context, name);
    provision::check_may_delete(context.tools(), cluster.name);
    const Nodes nodes = context.store().nodes(cluster.id);
    add_job_steps(context, steps, cluster, nodes);
    add_steps(steps, "delete node", nodes);
    steps.push_back("delete shared resources and the record of cluster " + name);
  }
  return show_dry_run(context.ui(), "delete cluster", joined(names), steps);
}

bool may_delete(Context& context, const ChangeOptions& options, const Names& names) {
  if (has_consent(context, options.yes)) return true;
  const auto affected = affected_by(context, names);
  if (affected.empty() || consents(context, options.yes, question_of("Delete", affected)))
    return true;
  context.ui().note("nothing deleted");
  return false;
}

void delete_one(Context& context, const ChangeOptions& options, const std::string& name) {
  const state::Cluster cluster = find_cluster(context, name);
  context.set_interrupt_hint("cluster " + name +
                             " is partly deleted; remove the rest with: " + "fastgpu gc");
  const provision::Tools tools = tools_for(context, options);
  provision::check_may_delete(tools, cluster.name);
  stop_leaving_jobs(context, cluster, context.store().nodes(cluster.id), "its cluster was deleted");
  remove_scheduler(context, cluster,
                   in_state(context.store().nodes(cluster.id), state::NodeState::running));
  // From here on, a request to stop does not stop the deletion: machines would run on, unrecorded.
  context.set_stop_notice("finishing the deletion of cluster " + name +
                          "; Ctrl-C again leaves it half done");
  provision::delete_cluster(tools, cluster.name);
  context.set_stop_notice("stopping delete cluster");
}

int run_delete(Context& context, const ChangeOptions& options) {
  const Names names = wanted_names(context, options, "delete cluster");
  if (options.forget) return run_forget(context, options, names);
  if (options.dry_run) return plan_delete(context, names);
  if (!may_delete(context, options, names)) return 1;
  if (names.size() != 1)
    return for_each_cluster(context, names, "deleted", "deleted",
                            [&](const std::string& name) { delete_one(context, options, name); });
  delete_one(context, options, names.front());
  context.ui().end_progress();
  show_done(context, "deleted", names.front(), "deleted cluster " + names.front());
  return 0;
}

}  // namespace

Action make_delete_cluster_command(Arguments& arguments) {
  const auto options = describe_several_clusters(arguments);
  describe_consent(arguments, options->yes);
  arguments.flag("--forget",
                 "Only remove the local record of a cluster that another machine has taken over",
                 options->forget);
  return [options](Context& context) { return run_delete(context, *options); };
}

}  // namespace fastgpu::cli
