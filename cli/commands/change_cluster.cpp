// start, stop, rename, scale and delete: an operation on a cluster that exists.
#include <algorithm>
#include <memory>

#include "cli/commands/cluster_options.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/dry_run.hpp"
#include "cli/commands/lookup.hpp"
#include "cli/commands/plan_table.hpp"
#include "cli/commands/running_jobs.hpp"
#include "cli/commands/views.hpp"
#include "cli/consent.hpp"
#include "cli/guarding.hpp"
#include "cli/meeting.hpp"
#include "cli/record.hpp"
#include "envs/environments/record.hpp"
#include "provision/lifecycle.hpp"
#include "provision/providers.hpp"
#include "provision/takeover.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

struct Options : ClusterOptions {
  std::string new_name;
  std::optional<int> nodes;
  bool replace_lost = false;
  bool yes = false;
  bool forget = false;
  bool dry_run = false;
};

std::string counted(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " node" : " nodes");
}

using Nodes = std::vector<state::Node>;

/// The nodes that scaling down to `wanted` removes.
Nodes last_nodes(const Nodes& nodes, std::size_t wanted) {
  return {nodes.begin() + static_cast<std::ptrdiff_t>(std::min(wanted, nodes.size())), nodes.end()};
}

void add_steps(std::vector<std::string>& steps, const std::string& what, const Nodes& nodes) {
  for (const state::Node& node : nodes)
    steps.push_back(what + " " + node.name.value);
}

void add_job_steps(Context& context, std::vector<std::string>& steps, const state::Cluster& cluster,
                   const Nodes& nodes) {
  for (const std::string& job : running_jobs(context, cluster, nodes, JobSource::record))
    steps.push_back("end job " + job + ", which is on record as running");
}

/// "3 nodes; 1 job runs on it: train-1"
std::string what_goes(const Nodes& nodes, const std::vector<std::string>& jobs) {
  return counted(nodes.size()) + (jobs.empty() ? "" : "; " + jobs_text(jobs));
}

Nodes in_state(const Nodes& nodes, state::NodeState state) {
  Nodes found;
  std::ranges::copy_if(nodes, std::back_inserter(found),
                       [&](const state::Node& node) { return node.state == state; });
  return found;
}

/// New nodes have none of the environments that the others have.
void show_environments_to_bring(Context& context, const state::Cluster& cluster) {
  const auto record =
      envs::read_record(state::cluster_directory(context.state_directory(), cluster.id));
  std::vector<std::string> next;
  for (const auto& [name, prefix] : record.prefix)
    next.push_back("fastgpu env create " + name + " --cluster " + cluster.name.value);
  if (!next.empty()) context.ui().next_steps(next);
}

/// What others own goes on without this state directory.
int run_forget(Context& context, const Options& options) {
  const ClusterName name = find_cluster(context, options.name).name;
  if (options.dry_run) {
    provision::check_forgettable(context.tools(), name);
    return show_dry_run(context.ui(), "delete cluster", name.value,
                        {"forget cluster " + name.value + "; its machines go on"});
  }
  provision::forget_cluster(tools_for(context, options), name);
  View view;
  view.root = document("forgotten");
  view.root["cluster"] = options.name;
  view.names = {options.name};
  if (context.ui().for_people())
    context.ui().note("forgot cluster " + options.name + "; its machines are somebody else's");
  else
    context.ui().show(view);
  return 0;
}

int plan_delete(Context& context, const state::Cluster& cluster) {
  provision::require_ours(context.tools(), cluster);
  const Nodes nodes = context.store().nodes(cluster.id);
  std::vector<std::string> steps;
  add_job_steps(context, steps, cluster, nodes);
  add_steps(steps, "delete node", nodes);
  steps.push_back("delete what the nodes share, and cluster " + cluster.name.value);
  return show_dry_run(context.ui(), "delete cluster", cluster.name.value, steps);
}

bool may_delete(Context& context, const Options& options, const state::Cluster& cluster) {
  if (has_consent(context, options.yes)) return true;
  const Nodes nodes = context.store().nodes(cluster.id);
  const auto jobs = running_jobs(context, cluster, nodes, JobSource::nodes);
  if (consents(context, options.yes,
               "Delete cluster " + options.name + " (" + what_goes(nodes, jobs) + ")?"))
    return true;
  context.ui().note("nothing deleted");
  return false;
}

int run_delete(Context& context, const Options& options) {
  if (options.forget) return run_forget(context, options);
  const state::Cluster cluster = find_cluster(context, options.name);
  if (options.dry_run) return plan_delete(context, cluster);
  if (!may_delete(context, options, cluster)) return 1;
  context.set_parting_words("cluster " + options.name +
                            " is half deleted; remove the rest with: fastgpu gc");
  provision::delete_cluster(tools_for(context, options), cluster.name);
  View view;
  view.root = document("deleted");
  view.root["cluster"] = options.name;
  view.names = {options.name};
  context.ui().end_progress();
  if (context.ui().for_people())
    context.ui().note("deleted cluster " + options.name);
  else
    context.ui().show(view);
  return 0;
}

int plan_start(Context& context, const Options& options, const ClusterName& name) {
  const auto view = provision::look_before_change(context.tools(), name);
  std::vector<std::string> steps;
  add_steps(steps, "start node", in_state(view.nodes, state::NodeState::stopped));
  const Nodes lost = in_state(view.nodes, state::NodeState::lost);
  if (options.replace_lost) add_steps(steps, "make a new machine for lost node", lost);
  if (!steps.empty()) context.tools().providers(view.cluster.provider).check_usable();
  return show_dry_run(context.ui(), "start cluster", name.value, steps);
}

/// A start takes no question: what is paid for again was asked about when it was made.
void show_cost_of_start(Context& context, const state::Cluster& cluster) {
  if (!provision::is_cloud(cluster.provider)) return;
  const Nodes nodes = context.store().nodes(cluster.id);
  const auto count = static_cast<int>(in_state(nodes, state::NodeState::stopped).size());
  if (count == 0) return;
  const CloudPlan plan = plan_of_more(context, cluster);
  context.ui().note("starting " + counted(static_cast<std::size_t>(count)) + " (" +
                    plan.spec.places.front().type + ") for " + plan_price(plan, count));
}

int run_start(Context& context, const Options& options) {
  const ClusterName name = find_cluster(context, options.name).name;
  if (options.dry_run) return plan_start(context, options, name);
  show_cost_of_start(context, find_cluster(context, name.value));
  const provision::Tools tools = tools_for(context, options);
  auto view = provision::start_cluster(tools, name);
  const auto is_lost = [](const state::Node& node) { return node.state == state::NodeState::lost; };
  const auto lost = static_cast<std::size_t>(std::ranges::count_if(view.nodes, is_lost));
  if (options.replace_lost)
    view = provision::replace_lost_nodes(tools, name);
  else if (lost > 0)
    context.ui().warn(counted(lost) + " of cluster " + options.name +
                      " lost: `fastgpu start cluster " + options.name +
                      " --replace-lost` makes new ones in place");
  if (lost == 0 || options.replace_lost) meet(context, tools, view.cluster);
  keep_guards(context, name, Occasion::changed);
  publish_record(context, name);
  show_cluster(context, view);
  if (lost > 0 && options.replace_lost) show_environments_to_bring(context, view.cluster);
  return 0;
}

int plan_stop(Context& context, const ClusterName& name) {
  const auto view = provision::look_before_change(context.tools(), name);
  const Nodes running = in_state(view.nodes, state::NodeState::running);
  std::vector<std::string> steps;
  add_job_steps(context, steps, view.cluster, running);
  add_steps(steps, "stop node", running);
  return show_dry_run(context.ui(), "stop cluster", name.value, steps);
}

/// A cluster without jobs is stopped without a question: nothing on it is lost.
bool may_stop(Context& context, const Options& options, const ClusterName& name) {
  if (has_consent(context, options.yes)) return true;
  const state::Cluster cluster = find_cluster(context, name.value);
  const Nodes nodes = context.store().nodes(cluster.id);
  const auto jobs = running_jobs(context, cluster, nodes, JobSource::nodes);
  if (jobs.empty()) return true;
  if (consents(context, options.yes,
               "Stop cluster " + name.value + " (" + what_goes(nodes, jobs) + ")?"))
    return true;
  context.ui().note("nothing stopped");
  return false;
}

int run_stop(Context& context, const Options& options) {
  const ClusterName name = find_cluster(context, options.name).name;
  if (options.dry_run) return plan_stop(context, name);
  if (!may_stop(context, options, name)) return 1;
  const auto view = provision::stop_cluster(tools_for(context, options), name);
  keep_guards(context, name, Occasion::changed, Reach::cloud_alone);
  show_cluster(context, view);
  context.ui().next_steps({"fastgpu start cluster " + options.name});
  return 0;
}

int plan_rename(Context& context, const ClusterName& from, const ClusterName& to) {
  provision::look_before_change(context.tools(), from);
  std::vector<std::string> steps;
  if (from != to) {
    provision::check_name_is_free(context.store(), to);
    steps.push_back("call cluster " + from.value + " " + to.value);
  }
  return show_dry_run(context.ui(), "rename cluster", from.value, steps);
}

int run_rename(Context& context, const Options& options) {
  const ClusterName from = parse_cluster_name(options.name);
  const ClusterName to = parse_cluster_name(options.new_name);
  if (options.dry_run) return plan_rename(context, from, to);
  const auto view = provision::rename_cluster(tools_for(context, options), from, to);
  publish_record(context, to);
  show_cluster(context, view);
  return 0;
}

/// Shows what more machines of a cloud are and cost. The number of nodes was written by hand: there
/// is no question.
void show_cost_of_more(Context& context, const state::Cluster& cluster, int count) {
  if (!provision::is_cloud(cluster.provider)) return;
  const CloudPlan plan = plan_of_more(context, cluster);
  context.ui().note_table(plan_table(plan, count));
  context.ui().note("adding " + counted(static_cast<std::size_t>(count)) + " to cluster " +
                    cluster.name.value + " for " + plan_price(plan, count));
}

int plan_scale(Context& context, const ClusterName& name, std::size_t wanted) {
  const auto scaling = provision::plan_scale(context.tools(), name, static_cast<int>(wanted));
  std::vector<std::string> steps;
  add_job_steps(context, steps, scaling.cluster, scaling.removed);
  add_steps(steps, "delete node", scaling.removed);
  add_steps(steps, "create node", scaling.added);
  if (!scaling.added.empty())
    show_cost_of_more(context, scaling.cluster, static_cast<int>(scaling.added.size()));
  return show_dry_run(context.ui(), "scale cluster", name.value, steps);
}

bool may_remove(Context& context, const Options& options, const state::Cluster& cluster,
                std::size_t wanted) {
  if (has_consent(context, options.yes)) return true;
  const Nodes nodes = last_nodes(context.store().nodes(cluster.id), wanted);
  const std::string jobs = jobs_text(running_jobs(context, cluster, nodes, JobSource::nodes));
  if (consents(context, options.yes,
               "Delete the last " + counted(nodes.size()) + " of cluster " + options.name +
                   (jobs.empty() ? "" : " (" + jobs + ")") + "?"))
    return true;
  context.ui().note("nothing deleted");
  return false;
}

int run_scale(Context& context, const Options& options) {
  if (!options.nodes) throw Error(ErrorKind::usage, "scale cluster: --nodes is missing");
  const state::Cluster cluster = find_cluster(context, options.name);
  const std::size_t present = context.store().nodes(cluster.id).size();
  const auto wanted = static_cast<std::size_t>(*options.nodes);
  if (options.dry_run) return plan_scale(context, cluster.name, wanted);
  if (wanted < present && !may_remove(context, options, cluster, wanted)) return 1;
  if (wanted > present) show_cost_of_more(context, cluster, static_cast<int>(wanted - present));
  context.set_parting_words("cluster " + options.name +
                            " is half scaled; settle it with: fastgpu gc");
  const provision::Tools tools = tools_for(context, options);
  const auto view = provision::scale_cluster(tools, cluster.name, *options.nodes);
  if (wanted > present) meet(context, tools, cluster);
  keep_guards(context, cluster.name, Occasion::changed);
  publish_record(context, cluster.name);
  show_cluster(context, view);
  if (wanted > present) show_environments_to_bring(context, cluster);
  return 0;
}

std::shared_ptr<Options> describe_options(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  describe_cluster_options(arguments, *options);
  describe_dry_run(arguments, options->dry_run);
  return options;
}

}  // namespace

Action describe_delete_cluster(Arguments& arguments) {
  const auto options = describe_options(arguments);
  describe_consent(arguments, options->yes);
  arguments.flag("--forget", "Only forget a cluster that another machine has taken over",
                 options->forget);
  return [options](Context& context) { return run_delete(context, *options); };
}

Action describe_start_cluster(Arguments& arguments) {
  const auto options = describe_options(arguments);
  arguments.flag("--replace-lost", "Make new machines for nodes whose machines are gone",
                 options->replace_lost);
  return [options](Context& context) { return run_start(context, *options); };
}

Action describe_stop_cluster(Arguments& arguments) {
  const auto options = describe_options(arguments);
  describe_consent(arguments, options->yes);
  return [options](Context& context) { return run_stop(context, *options); };
}

Action describe_rename_cluster(Arguments& arguments) {
  const auto options = describe_options(arguments);
  arguments.text("NEW", "", "Its new name", options->new_name).required = true;
  return [options](Context& context) { return run_rename(context, *options); };
}

Action describe_scale_cluster(Arguments& arguments) {
  const auto options = describe_options(arguments);
  Argument& nodes = arguments.count("--nodes", "N", "How many nodes it shall have", options->nodes,
                                    1, provision::kMostNodes);
  nodes.letter = "-n";
  describe_consent(arguments, options->yes);
  return [options](Context& context) { return run_scale(context, *options); };
}

}  // namespace fastgpu::cli
