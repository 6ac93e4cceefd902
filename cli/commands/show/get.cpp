#include <algorithm>
#include <chrono>
#include <map>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/show/descriptions.hpp"
#include "cli/program/context.hpp"
#include "cli/workflows/job_access.hpp"
#include "cli/workflows/lookup.hpp"
#include "provision/lifecycle.hpp"

namespace fastgpu::cli {
namespace {

struct Options {
  std::string name;
};

Standing standing_now(Context& context, const state::Cluster& cluster) {
  return standing_of(context.store(), cluster, std::chrono::system_clock::now());
}

/// Returns the cost of one node so far, in the currency of the cluster.
Json cost_json(const Standing& standing, const state::Node& node) {
  const auto cost = cost_of(standing, node, std::chrono::system_clock::now());
  return cost ? Json(cost->amount) : Json();
}

/// Returns the cluster in its provider's present view, or, if that cannot be asked, its last known
/// state.
ClusterAndNodes as_it_is(Context& context, const state::Cluster& cluster) {
  try {
    provision::ClusterView view = provision::refresh_cluster(context.tools(), cluster.name);
    const Standing standing = standing_now(context, view.cluster);
    auto notices = notices_of(context, view.cluster, view.nodes);
    for (const Notice& notice : notices)
      warn_of(context.messages(), notice);
    return {std::move(view.cluster), std::move(view.nodes), standing, std::move(notices)};
  } catch (const Error& e) {
    context.cancel().check();
    context.ui().warn(cluster.name.value + ": shown as last known: " + e.what());
    return {cluster, context.store().nodes(cluster.id), standing_now(context, cluster)};
  }
}

std::vector<ClusterAndNodes> wanted_clusters(Context& context, const std::string& name) {
  if (!name.empty()) return {as_it_is(context, find_cluster(context, name))};
  std::vector<ClusterAndNodes> out;
  for (const state::Cluster& cluster : context.store().clusters())
    out.push_back(as_it_is(context, cluster));
  return out;
}

/// Returns the clusters in `target`, each with the nodes in it.
std::vector<ClusterAndNodes> wanted_nodes(Context& context, const std::string& target) {
  if (target.empty()) return wanted_clusters(context, "");
  const auto [name, node_set] = find_target(context, target);
  auto found = wanted_clusters(context, name);
  if (!node_set.empty()) found.front().nodes = find_nodes(context, found.front().cluster, node_set);
  return found;
}

/// Returns the job in its nodes' present view; they may not answer.
state::Job now(Context& context, const state::Job& job) {
  try {
    return refresh_job(context, job);
  } catch (const Error& e) {
    context.cancel().check();
    context.ui().warn(job.id + ": shown as last known: " + e.what());
    return job;
  }
}

std::vector<JobAndCluster> wanted_jobs(Context& context, const std::string& name) {
  std::map<std::string, std::string> names;
  for (const state::Cluster& cluster : context.store().clusters())
    names[cluster.id.value] = cluster.name.value;
  std::vector<state::Job> jobs;
  if (name.empty())
    jobs = context.store().jobs();
  else
    jobs = {find_job(context, name)};
  std::vector<JobAndCluster> out;
  for (const state::Job& job : jobs) {
    const auto found = names.find(job.cluster.value);
    out.push_back({now(context, job), found == names.end() ? "" : found->second});
  }
  return out;
}

enum class Need : std::uint8_t { optional, required };

std::shared_ptr<Options> describe_name(Arguments& arguments, std::string_view help, Values values,
                                       Need need) {
  auto options = std::make_shared<Options>();
  Argument& name = arguments.text("NAME", "", help, options->name);
  name.values = values;
  name.required = need == Need::required;
  return options;
}

}  // namespace

Action describe_get_clusters(Arguments& arguments) {
  arguments.offer_table();
  const auto options =
      describe_name(arguments, "Show only this one", Values::cluster, Need::optional);
  return [options](Context& context) {
    const auto clusters = wanted_clusters(context, options->name);
    context.ui().show(view_of(clusters, std::chrono::system_clock::now()));
    return 0;
  };
}

Action describe_get_nodes(Arguments& arguments) {
  arguments.offer_table();
  const auto options =
      describe_name(arguments, "A cluster, or CLUSTER/NODES (all)", Values::target, Need::optional);
  return [options](Context& context) {
    context.ui().show(view_of_nodes(wanted_nodes(context, options->name)));
    return 0;
  };
}

Action describe_get_jobs(Arguments& arguments) {
  arguments.offer_table();
  const auto options = describe_name(arguments, "Show only this one", Values::job, Need::optional);
  return [options](Context& context) {
    const auto jobs = wanted_jobs(context, options->name);
    context.ui().show(view_of(jobs, std::chrono::system_clock::now()));
    return 0;
  };
}

Action describe_describe_cluster(Arguments& arguments) {
  const auto options = describe_name(arguments, "The cluster", Values::cluster, Need::required);
  return [options](Context& context) {
    const ClusterAndNodes shown = wanted_clusters(context, options->name).front();
    const auto& [cluster, nodes, standing, notices] = shown;
    Json fields = cluster_fields(shown);
    fields["nodes"] = Json::array();
    for (const state::Node& node : nodes) {
      fields["nodes"].push_back(to_json(node));
      fields["nodes"].back()["cost_so_far"] = cost_json(standing, node);
    }
    const std::size_t open_intents = context.store().open_intents(cluster.id).size();
    fields["open_intents"] = open_intents;
    View view = view_of_one("cluster", fields, cluster.name.value);
    view.described = description_of(shown, context.store().jobs(), open_intents,
                                    std::chrono::system_clock::now());
    context.ui().show(view);
    return 0;
  };
}

Action describe_describe_node(Arguments& arguments) {
  const auto options =
      describe_name(arguments, "The node, or CLUSTER/NODE", Values::node, Need::required);
  return [options](Context& context) {
    state::Node node = find_node(context, options->name);
    const auto cluster = context.store().find_cluster(node.cluster);
    ClusterAndNodes shown;
    if (cluster) shown = as_it_is(context, *cluster);
    for (const state::Node& found : shown.nodes)
      if (found.index == node.index) node = found;
    Json fields = to_json(node);
    fields["cluster"] = cluster ? cluster->name.value : "";
    if (cluster) fields.update(machine_fields(*cluster));
    View view = view_of_one("node", fields, node.name.value);
    view.described = description_of(node, shown, std::chrono::system_clock::now());
    context.ui().show(view);
    return 0;
  };
}

Action describe_describe_job(Arguments& arguments) {
  const auto options = describe_name(arguments, "The job", Values::job, Need::required);
  return [options](Context& context) {
    const JobAndCluster found = wanted_jobs(context, options->name).front();
    Json fields = to_json(found.job);
    fields["cluster"] = found.cluster;
    const auto now = std::chrono::system_clock::now();
    fields["duration_seconds"] = duration_of(found.job, now).count();
    fields["logs"] = place_of_logs(found.job);
    View view = view_of_one("job", fields, found.job.id);
    view.described = description_of(found, now);
    context.ui().show(view);
    return 0;
  };
}

}  // namespace fastgpu::cli
