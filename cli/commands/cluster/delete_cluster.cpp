#include <string>
#include <string_view>

#include "base/join.hpp"
#include "cli/commands/cluster/change_cluster.hpp"
#include "cli/commands/cluster/unfinished_change.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/dry_run.hpp"
#include "cli/program/consent.hpp"
#include "cli/ui/view.hpp"
#include "cli/workflows/cluster_scheduler.hpp"
#include "cli/workflows/image_baking.hpp"
#include "cli/workflows/left_on_hosts.hpp"
#include "cli/workflows/lookup.hpp"
#include "provision/lifecycle.hpp"
#include "provision/providers.hpp"
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
    const auto unasked = with_tools(context, options, [&](const provision::Tools& tools) {
      return provision::forget_cluster(tools, cluster.name);
    });
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
    add_job_steps(context, steps, cluster, nodes, QueuedJobs::end);
    add_steps(steps, "delete node", nodes);
    steps.push_back("delete shared resources and the record of cluster " + name);
  }
  return show_dry_run(context.ui(), "delete cluster", joined(names), steps);
}

bool may_delete(Context& context, const ChangeOptions& options, const Names& names) {
  if (has_consent(context, options.yes)) {
    for (const state::Cluster& cluster : known_clusters(context, names))
      note_jobs_that_end(context, cluster, context.store().nodes(cluster.id), QueuedJobs::end,
                         "deleting the cluster");
    return true;
  }
  const auto affected = affected_by(context, names);
  if (affected.empty() || consents(context, options.yes, question_of("Delete", affected)))
    return true;
  context.ui().note("nothing deleted");
  return false;
}

/// Returns the failure of a deletion. An interruption before the deletion was on record says that
/// nothing was deleted and what still costs money.
Error not_deleted(Context& context, const ClusterName& name, const Error& failure) {
  const auto cluster = context.store().find_cluster(name);
  if (failure.kind() != ErrorKind::interrupted || !cluster ||
      cluster->state == state::ClusterState::deleting)
    return failure;
  return {failure.kind(), std::string(failure.what()) + "; cluster " + name.value +
                              " was not deleted: " + running_text(context, *cluster) +
                              "; `fastgpu delete cluster " + name.value + "` deletes it"};
}

/// Stops the jobs, and removes what others see of the cluster. Returns the sentence about what
/// stays on hosts of the user. A failure names the machines that run on.
std::string leave_nodes(Context& context, const state::Cluster& cluster) try {
  const Nodes nodes = context.store().nodes(cluster.id);
  stop_leaving_jobs(context, cluster, nodes, "its cluster was deleted");
  const Nodes running = in_state(nodes, state::NodeState::running);
  remove_scheduler(context, cluster, running);
  deactivate_on_leaving(context, cluster, running);
  return rest_on_hosts(context, cluster, nodes);
} catch (const Error& e) {
  const bool is_ours = e.kind() != ErrorKind::interrupted && e.kind() != ErrorKind::conflict;
  if (!is_ours || !provision::is_cloud(cluster.provider)) throw;
  throw Error(e.kind(), std::string(e.what()) + "; cluster " + cluster.name.value +
                            " was not deleted: " + running_text(context, cluster) +
                            "; `fastgpu delete cluster " + cluster.name.value + "` tries again");
}

/// Deletes the cluster. Returns the sentence about what stays on hosts of the user.
std::string delete_with(Context& context, const provision::Tools& tools,
                        const state::Cluster& cluster) {
  // An earlier deletion that was interrupted is finished by now.
  if (!context.store().find_cluster(cluster.id)) return {};
  provision::check_may_delete(tools, cluster.name);
  std::string rest = leave_nodes(context, cluster);
  provision::delete_cluster(tools, cluster.name, [&] {
    context.set_stop_notice("finishing the deletion of cluster " + cluster.name.value +
                            "; Ctrl-C again leaves it half done");
    context.set_interrupt_hint("cluster " + cluster.name.value +
                               " is partly deleted; remove the rest with: fastgpu gc");
  });
  return rest;
}

void delete_one(Context& context, const ChangeOptions& options, const std::string& given) {
  const state::Cluster cluster = find_cluster(context, given);
  const std::string& name = cluster.name.value;
  context.set_stop_notice("stopping; cluster " + name + " is not deleted");
  context.set_interrupt_hint("cluster " + name +
                             " was not deleted; to delete it: fastgpu delete cluster " + name);
  const Names images = unfinished_images(context, cluster.id);
  std::string rest;
  try {
    rest = with_tools(context, options, [&](const provision::Tools& tools) {
      return delete_with(context, tools, cluster);
    });
  } catch (const Error& e) {
    throw not_deleted(context, cluster.name, e);
  }
  context.set_stop_notice("interrupting delete cluster");
  if (!rest.empty()) context.ui().note(rest);
  for (const std::string& image : images)
    context.ui().warn("image " + image + " was being created from a node of cluster " + name +
                      " and stays; it costs money until it is deleted: fastgpu delete image " +
                      image);
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
