// start, stop, rename, scale and delete: an operation on a cluster that exists.
#include <algorithm>
#include <memory>

#include "base/counted.hpp"
#include "cli/commands/cluster/plan_table.hpp"
#include "cli/commands/cluster/running_jobs.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/shared/cluster_options.hpp"
#include "cli/commands/shared/dry_run.hpp"
#include "cli/commands/show/views.hpp"
#include "cli/program/app.hpp"
#include "cli/program/consent.hpp"
#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/contact.hpp"
#include "cli/workflows/lookup.hpp"
#include "cli/workflows/record_publisher.hpp"
#include "envs/environments/record.hpp"
#include "provision/lifecycle.hpp"
#include "provision/providers.hpp"
#include "provision/takeover.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

struct Options : ClusterOptions {
  std::vector<std::string> names;  ///< Of the commands that take several clusters.
  bool all = false;
  std::string new_name;
  std::optional<int> nodes;
  bool replace_lost = false;
  bool yes = false;
  bool forget = false;
  bool dry_run = false;
};

using Nodes = std::vector<state::Node>;
using Names = std::vector<std::string>;

/// The clusters that are named, each once, or all of them.
Names wanted_names(Context& context, const Options& options, const std::string& command) {
  if (options.names.empty() == !options.all)
    throw Error(ErrorKind::usage, command + (options.all ? ": name clusters, or say --all; not both"
                                                         : ": name a cluster, or say --all"));
  Names names;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  std::ranges::for_each(options.names, add);
  if (options.all)
    for (const state::Cluster& cluster : context.store().clusters())
      add(cluster.name.value);
  return names;
}

/// Returns the clusters with these names and skips unknown names, which get a result of their own.
/// Throws not_found if the only name is unknown.
std::vector<state::Cluster> known_clusters(Context& context, const Names& names) {
  if (names.size() == 1) return {find_cluster(context, names.front())};
  std::vector<state::Cluster> known;
  for (const std::string& name : names)
    if (auto cluster = context.store().find_cluster(parse_cluster_name(name)))
      known.push_back(std::move(*cluster));
  return known;
}

std::string joined(const Names& names) {
  std::string out;
  for (const std::string& name : names)
    out += (out.empty() ? "" : ", ") + name;
  return out;
}

/// The outcome for one cluster of several.
struct Result {
  std::string cluster;
  std::optional<Error> failure{};
};

View view_of(const std::vector<Result>& results, std::string_view kind, const std::string& done) {
  View view;
  view.when_empty = "no clusters";
  view.root = document(kind);
  view.root["clusters"] = Json::array();
  view.table.columns = {{"CLUSTER"}, {"RESULT", false, Fit::prose}};
  for (const Result& one : results) {
    const std::string text = one.failure ? one.failure->what() : done;
    Json item;
    item["name"] = one.cluster;
    item["error"] = one.failure ? Json(text) : Json(nullptr);
    view.root["clusters"].push_back(std::move(item));
    view.table.rows.push_back({one.cluster, Cell(text, one.failure ? Color::red : Color::green)});
    view.names.push_back(one.cluster);
  }
  return view;
}

/// Does `act` to each cluster, whatever has become of the others, and shows the results. Returns
/// the exit code of the worst.
template <class Act>
int for_each_cluster(Context& context, const Names& names, std::string_view kind,
                     const std::string& done, Act act) {
  std::vector<Result> results;
  int code = 0;
  for (const std::string& name : names) {
    results.push_back({.cluster = name});
    try {
      context.cancel().check();
      act(name);
    } catch (const Error& e) {
      results.back().failure = e;
      code = std::max(code, exit_code(e.kind()));
    }
  }
  context.ui().end_progress();
  context.ui().show(view_of(results, kind, done));
  return code;
}

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
  return counted(nodes.size(), "node") + (jobs.empty() ? "" : "; " + jobs_text(jobs));
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
int run_forget(Context& context, const Options& options, const Names& names) {
  if (options.dry_run) {
    Names steps;
    for (const state::Cluster& cluster : known_clusters(context, names)) {
      provision::check_forgettable(context.tools(), cluster.name);
      steps.push_back("forget cluster " + cluster.name.value + "; its machines go on");
    }
    return show_dry_run(context.ui(), "delete cluster", joined(names), steps);
  }
  const auto forget = [&](const std::string& name) {
    provision::forget_cluster(tools_for(context, options), find_cluster(context, name).name);
  };
  if (names.size() != 1) return for_each_cluster(context, names, "forgotten", "forgotten", forget);
  forget(names.front());
  View view;
  view.root = document("forgotten");
  view.root["cluster"] = names.front();
  view.names = names;
  if (context.ui().for_people())
    context.ui().note("forgot cluster " + names.front() + "; its machines are somebody else's");
  else
    context.ui().show(view);
  return 0;
}

int plan_delete(Context& context, const Names& names) {
  Names steps;
  for (const std::string& name : names) {
    const state::Cluster cluster = find_cluster(context, name);
    provision::require_ours(context.tools(), cluster);
    const Nodes nodes = context.store().nodes(cluster.id);
    add_job_steps(context, steps, cluster, nodes);
    add_steps(steps, "delete node", nodes);
    steps.push_back("delete what the nodes share, and cluster " + name);
  }
  return show_dry_run(context.ui(), "delete cluster", joined(names), steps);
}

/// A cluster and the jobs that run on it.
struct Affected {
  state::Cluster cluster;
  Nodes nodes;
  std::vector<std::string> jobs;
};

std::vector<Affected> affected_by(Context& context, const Names& names) {
  std::vector<Affected> all;
  for (const state::Cluster& cluster : known_clusters(context, names)) {
    Nodes nodes = context.store().nodes(cluster.id);
    auto jobs = running_jobs(context, cluster, nodes, JobSource::nodes);
    all.push_back({cluster, std::move(nodes), std::move(jobs)});
  }
  return all;
}

/// "Delete cluster a (2 nodes)?", "Delete 2 clusters: a (2 nodes), b (1 node)?"
std::string question_of(const std::string& verb, const std::vector<Affected>& affected) {
  std::string list;
  for (const Affected& one : affected)
    list += (list.empty() ? "" : ", ") + one.cluster.name.value + " (" +
            what_goes(one.nodes, one.jobs) + ")";
  if (affected.size() == 1) return verb + " cluster " + list + "?";
  return verb + " " + counted(affected.size(), "cluster") + ": " + list + "?";
}

bool may_delete(Context& context, const Options& options, const Names& names) {
  if (has_consent(context, options.yes)) return true;
  const auto affected = affected_by(context, names);
  if (affected.empty() || consents(context, options.yes, question_of("Delete", affected)))
    return true;
  context.ui().note("nothing deleted");
  return false;
}

void delete_one(Context& context, const Options& options, const std::string& name) {
  const state::Cluster cluster = find_cluster(context, name);
  context.set_parting_words("cluster " + name +
                            " is half deleted; remove the rest with: " + "fastgpu gc");
  provision::delete_cluster(tools_for(context, options), cluster.name);
}

int run_delete(Context& context, const Options& options) {
  const Names names = wanted_names(context, options, "delete cluster");
  if (options.forget) return run_forget(context, options, names);
  if (options.dry_run) return plan_delete(context, names);
  if (!may_delete(context, options, names)) return 1;
  if (names.size() != 1)
    return for_each_cluster(context, names, "deleted", "deleted",
                            [&](const std::string& name) { delete_one(context, options, name); });
  delete_one(context, options, names.front());
  View view;
  view.root = document("deleted");
  view.root["cluster"] = names.front();
  view.names = names;
  context.ui().end_progress();
  if (context.ui().for_people())
    context.ui().note("deleted cluster " + names.front());
  else
    context.ui().show(view);
  return 0;
}

int plan_start(Context& context, const Options& options, const Names& names) {
  Names steps;
  for (const std::string& name : names) {
    const auto view =
        provision::look_before_change(context.tools(), find_cluster(context, name).name);
    const Nodes stopped = in_state(view.nodes, state::NodeState::stopped);
    const Nodes lost = in_state(view.nodes, state::NodeState::lost);
    if (!stopped.empty() || (options.replace_lost && !lost.empty()))
      context.tools().providers(view.cluster.provider).check_usable();
    add_steps(steps, "start node", stopped);
    if (options.replace_lost) add_steps(steps, "make a new machine for lost node", lost);
  }
  return show_dry_run(context.ui(), "start cluster", joined(names), steps);
}

/// A start takes no question: what is paid for again was asked about when it was made.
void show_cost_of_start(Context& context, const state::Cluster& cluster) {
  if (!provision::is_cloud(cluster.provider)) return;
  const Nodes nodes = context.store().nodes(cluster.id);
  const auto count = static_cast<int>(in_state(nodes, state::NodeState::stopped).size());
  if (count == 0) return;
  const CloudPlan plan = plan_of_more(context, cluster);
  context.ui().note("starting " + counted(count, "node") + " (" + plan.spec.places.front().type +
                    ") for " + plan_price(plan, count));
}

provision::ClusterView start_one(Context& context, const Options& options,
                                 const std::string& given) {
  const state::Cluster cluster = find_cluster(context, given);
  const ClusterName& name = cluster.name;
  show_cost_of_start(context, cluster);
  const provision::Tools tools = tools_for(context, options);
  auto view = provision::start_cluster(tools, name);
  const std::size_t lost = in_state(view.nodes, state::NodeState::lost).size();
  if (options.replace_lost)
    view = provision::replace_lost_nodes(tools, name);
  else if (lost > 0)
    context.ui().warn(counted(lost, "node") + " of cluster " + name.value +
                      " lost: `fastgpu start cluster " + name.value +
                      " --replace-lost` makes new ones in place");
  if (lost == 0 || options.replace_lost) meet(context, tools, view.cluster);
  keep_guards(context, name, Occasion::changed);
  publish_record(context, name);
  if (lost > 0 && options.replace_lost) show_environments_to_bring(context, view.cluster);
  return view;
}

int run_start(Context& context, const Options& options) {
  const Names names = wanted_names(context, options, "start cluster");
  if (options.dry_run) return plan_start(context, options, names);
  if (names.size() != 1)
    return for_each_cluster(context, names, "results", "started",
                            [&](const std::string& name) { start_one(context, options, name); });
  show_cluster(context, start_one(context, options, names.front()));
  return 0;
}

int plan_stop(Context& context, const Names& names) {
  Names steps;
  for (const std::string& name : names) {
    const auto view =
        provision::look_before_change(context.tools(), find_cluster(context, name).name);
    const Nodes running = in_state(view.nodes, state::NodeState::running);
    add_job_steps(context, steps, view.cluster, running);
    add_steps(steps, "stop node", running);
  }
  return show_dry_run(context.ui(), "stop cluster", joined(names), steps);
}

/// Clusters without jobs are stopped without a question: nothing on them is lost.
bool may_stop(Context& context, const Options& options, const Names& names) {
  if (has_consent(context, options.yes)) return true;
  const auto affected = affected_by(context, names);
  if (std::ranges::all_of(affected, [](const Affected& one) { return one.jobs.empty(); }))
    return true;
  if (consents(context, options.yes, question_of("Stop", affected))) return true;
  context.ui().note("nothing stopped");
  return false;
}

provision::ClusterView stop_one(Context& context, const Options& options,
                                const std::string& given) {
  const ClusterName name = find_cluster(context, given).name;
  auto view = provision::stop_cluster(tools_for(context, options), name);
  keep_guards(context, name, Occasion::changed, Reach::cloud_alone);
  return view;
}

int run_stop(Context& context, const Options& options) {
  const Names names = wanted_names(context, options, "stop cluster");
  if (options.dry_run) return plan_stop(context, names);
  if (!may_stop(context, options, names)) return 1;
  if (names.size() != 1)
    return for_each_cluster(context, names, "results", "stopped",
                            [&](const std::string& name) { stop_one(context, options, name); });
  show_cluster(context, stop_one(context, options, names.front()));
  context.ui().next_steps({"fastgpu start cluster " + names.front()});
  return 0;
}

int plan_rename(Context& context, const ClusterName& from, const ClusterName& to) {
  provision::look_before_change(context.tools(), from);
  std::vector<std::string> steps;
  if (from != to) {
    provision::check_name_is_free(context.store(), to, from);
    steps.push_back("call cluster " + from.value + " " + to.value);
  }
  return show_dry_run(context.ui(), "rename cluster", from.value, steps);
}

int run_rename(Context& context, const Options& options) {
  const ClusterName from = find_cluster(context, options.name).name;
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
  context.ui().note("adding " + counted(count, "node") + " to cluster " + cluster.name.value +
                    " for " + plan_price(plan, count));
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
               "Delete the last " + counted(nodes.size(), "node") + " of cluster " + options.name +
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

/// For commands that take several clusters.
std::shared_ptr<Options> describe_several(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.list("NAME", "", "One cluster or several", options->names).values = Values::cluster;
  describe_limits(arguments, *options);
  arguments.flag("--all", "All clusters", options->all);
  describe_dry_run(arguments, options->dry_run);
  return options;
}

}  // namespace

Action describe_delete_cluster(Arguments& arguments) {
  const auto options = describe_several(arguments);
  describe_consent(arguments, options->yes);
  arguments.flag("--forget",
                 "Only remove the record here of a cluster that another machine has taken over",
                 options->forget);
  return [options](Context& context) { return run_delete(context, *options); };
}

Action describe_start_cluster(Arguments& arguments) {
  const auto options = describe_several(arguments);
  arguments.flag("--replace-lost", "Create new machines for nodes that are lost",
                 options->replace_lost);
  return [options](Context& context) { return run_start(context, *options); };
}

Action describe_stop_cluster(Arguments& arguments) {
  const auto options = describe_several(arguments);
  describe_consent(arguments, options->yes);
  return [options](Context& context) { return run_stop(context, *options); };
}

Action describe_rename_cluster(Arguments& arguments) {
  const auto options = describe_options(arguments);
  arguments.text("NEW", "", "The new name", options->new_name).required = true;
  return [options](Context& context) { return run_rename(context, *options); };
}

Action describe_scale_cluster(Arguments& arguments) {
  const auto options = describe_options(arguments);
  Argument& nodes = arguments.count("--nodes", "N", "New number of nodes", options->nodes, 1,
                                    provision::kMostNodes);
  nodes.letter = "-n";
  describe_consent(arguments, options->yes);
  return [options](Context& context) { return run_scale(context, *options); };
}

}  // namespace fastgpu::cli
