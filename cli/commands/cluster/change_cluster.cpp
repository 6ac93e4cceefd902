#include "cli/commands/cluster/change_cluster.hpp"

#include <algorithm>

#include "base/contains.hpp"
#include "base/counted.hpp"
#include "base/host_names.hpp"
#include "base/join.hpp"
#include "base/outcome.hpp"
#include "cli/commands/shared/dry_run.hpp"
#include "cli/program/app.hpp"
#include "cli/ui/view.hpp"
#include "cli/workflows/image_baking.hpp"
#include "cli/workflows/lookup.hpp"
#include "envs/environments/record.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

/// The outcome for one of several clusters.
struct ChangeResult {
  std::string cluster;
  Outcome<void> outcome{};
};

View view_of(const std::vector<ChangeResult>& results, std::string_view kind,
             const std::string& done) {
  View view;
  view.when_empty = "no clusters";
  view.root = document(kind);
  view.root["clusters"] = Json::array();
  view.table.columns = {{"CLUSTER"}, {"RESULT", false, Fit::prose}};
  for (const ChangeResult& one : results) {
    const bool failed = !one.outcome.ok();
    const std::string text = failed ? one.outcome.error().what() : done;
    Json item;
    item["name"] = one.cluster;
    item["error"] = failed ? Json(text) : Json(nullptr);
    view.root["clusters"].push_back(std::move(item));
    view.table.rows.push_back({one.cluster, Cell(text, failed ? Color::red : Color::green)});
    view.names.push_back(one.cluster);
  }
  return view;
}

/// Returns what an operation affects: "3 nodes; 1 job runs on it: train-1".
std::string what_goes(const Nodes& nodes, const UnfinishedJobs& jobs) {
  return counted(nodes.size(), "node") + (jobs.empty() ? "" : "; " + jobs_text(jobs));
}

/// Throws as find_cluster() does. If there are other names, the message says that nothing was
/// changed.
void find_or_change_nothing(Context& context, const std::string& name, std::size_t names) try {
  find_cluster(context, name);
} catch (const Error& e) {
  if (names == 1) throw;
  throw Error(e.kind(), std::string(e.what()) + "; nothing was changed");
}

}  // namespace

std::shared_ptr<ChangeOptions> describe_one_cluster(Arguments& arguments) {
  auto options = std::make_shared<ChangeOptions>();
  describe_cluster_options(arguments, *options);
  describe_dry_run(arguments, options->dry_run);
  return options;
}

std::shared_ptr<ChangeOptions> describe_several_clusters(Arguments& arguments) {
  auto options = std::make_shared<ChangeOptions>();
  arguments.list("NAME", "", "One cluster or several", options->names).values = Values::cluster;
  describe_limits(arguments, *options);
  arguments.flag("--all", "All clusters", options->all);
  describe_dry_run(arguments, options->dry_run);
  return options;
}

Names wanted_names(Context& context, const ChangeOptions& options, const std::string& command) {
  if (options.names.empty() == !options.all)
    throw Error(ErrorKind::usage, command + (options.all ? ": name clusters or use --all, not both"
                                                         : ": name a cluster, or use --all"));
  Names names;
  const auto add = [&](const std::string& name) {
    if (!contains(names, name)) names.push_back(name);
  };
  std::ranges::for_each(options.names, add);
  for (const std::string& name : names)
    find_or_change_nothing(context, name, names.size());
  if (options.all)
    for (const state::Cluster& cluster : context.store().clusters())
      add(cluster.name.value);
  return names;
}

std::vector<state::Cluster> known_clusters(Context& context, const Names& names) {
  std::vector<state::Cluster> known;
  for (const std::string& name : names)
    if (auto cluster = context.store().find_cluster(parse_cluster_name(name)))
      known.push_back(std::move(*cluster));
  return known;
}

int for_each_cluster(Context& context, const Names& names, std::string_view kind,
                     const std::string& done, const std::function<void(const std::string&)>& act) {
  std::vector<ChangeResult> results;
  int code = 0;
  for (const std::string& name : names) {
    results.push_back({.cluster = name});
    const Outcome<void>& outcome = results.back().outcome = attempt([&] {
      if (context.cancel().requested())
        throw Error(ErrorKind::interrupted, "interrupted before this cluster: nothing was changed");
      act(name);
    });
    if (!outcome.ok()) code = std::max(code, exit_code(outcome.error().kind()));
  }
  context.ui().end_progress();
  context.ui().show(view_of(results, kind, done));
  return code;
}

void add_steps(std::vector<std::string>& steps, const std::string& what, const Nodes& nodes) {
  for (const state::Node& node : nodes)
    steps.push_back(what + " " + node.name.value);
}

void add_job_steps(Context& context, std::vector<std::string>& steps, const state::Cluster& cluster,
                   const Nodes& nodes, QueuedJobs queued) {
  const UnfinishedJobs jobs = jobs_on(context, cluster, nodes, JobSource::record);
  for (const std::string& job : jobs.running)
    steps.push_back("end job " + job + ", which is on record as running");
  if (queued == QueuedJobs::stay) return;
  for (const std::string& job : jobs.queued)
    steps.push_back("end job " + job + ", which waits in the queue");
}

void note_jobs_that_end(Context& context, const state::Cluster& cluster, const Nodes& nodes,
                        QueuedJobs queued, const std::string& doing) {
  UnfinishedJobs jobs = jobs_on(context, cluster, nodes, JobSource::settled);
  if (queued == QueuedJobs::stay) jobs.queued.clear();
  if (jobs.empty()) return;
  const bool is_one = jobs.running.size() + jobs.queued.size() == 1;
  context.ui().note("cluster " + cluster.name.value + ": " + jobs_text(jobs) + "; " + doing +
                    " ends " + (is_one ? "it" : "them"));
}

void add_bake_steps(Context& context, std::vector<std::string>& steps,
                    const state::Cluster& cluster, const Nodes& nodes) {
  for (const NodeName& node : baked_nodes(context, cluster.id))
    if (contains(nodes, node, &state::Node::name))
      steps.push_back("put node " + node.value + " back after an unfinished image");
}

Nodes in_state(const Nodes& nodes, state::NodeState state) {
  Nodes found;
  std::ranges::copy_if(nodes, std::back_inserter(found),
                       [&](const state::Node& node) { return node.state == state; });
  return found;
}

void show_environments_to_bring(Context& context, const state::Cluster& cluster) {
  const auto record =
      envs::read_record(state::cluster_directory(context.state_directory(), cluster.id));
  std::vector<std::string> next;
  for (const auto& [name, prefix] : record.prefix)
    next.push_back("fastgpu env create " + name + " --cluster " + cluster.name.value);
  if (!next.empty()) context.ui().next_steps(next);
}

std::vector<Affected> affected_by(Context& context, const Names& names) {
  std::vector<Affected> all;
  for (const state::Cluster& cluster : known_clusters(context, names)) {
    Nodes nodes = context.store().nodes(cluster.id);
    auto jobs = jobs_on(context, cluster, nodes, JobSource::nodes);
    all.push_back({cluster, std::move(nodes), std::move(jobs)});
  }
  return all;
}

std::string question_of(const std::string& verb, const std::vector<Affected>& affected) {
  std::string list;
  for (const Affected& one : affected)
    append_item(list, one.cluster.name.value + " (" + what_goes(one.nodes, one.jobs) + ")");
  if (affected.size() == 1) return verb + " cluster " + list + "?";
  return verb + " " + counted(affected.size(), "cluster") + ": " + list + "?";
}

}  // namespace fastgpu::cli
