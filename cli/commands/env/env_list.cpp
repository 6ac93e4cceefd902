#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "cli/commands/commands.hpp"
#include "cli/commands/env/env_tools.hpp"
#include "envs/environments/node_status.hpp"

namespace fastgpu::cli {
namespace {

struct EnvListOptions {
  EnvTarget target;
};

/// An environment as found on the nodes of a cluster.
struct Seen {
  std::vector<std::string> nodes;  ///< The nodes on which it is complete and current.
  std::set<std::string> builds;    ///< The versions, each with the checksum of its manifest.
  std::string version;
  std::size_t active_on = 0;  ///< The number of nodes on which logins activate it.
  std::string prefix;
};

/// The environments on the nodes of one cluster.
struct ClusterSeen {
  std::string cluster;
  std::size_t nodes = 0;
  std::map<std::string, Seen> environments;
};

void add(ClusterSeen& cluster, const NodeName& node, const agent::EnvironmentStatus& status) {
  for (const agent::FoundVersion& found : status.versions) {
    Seen& seen = cluster.environments[found.name];
    seen.prefix = status.prefix;
    if (!found.current || found.manifest.empty()) continue;
    seen.nodes.push_back(node.value);
    seen.builds.insert(found.version + found.manifest);
    seen.version = found.version;
    if (status.active == found.name) ++seen.active_on;
  }
}

std::string state_of(const Seen& seen, std::size_t nodes) {
  if (seen.builds.size() > 1) return "differs";
  return seen.nodes.size() == nodes ? "complete" : "partial";
}

void show(View& view, const ClusterSeen& cluster) {
  for (const auto& [name, seen] : cluster.environments) {
    const std::string state = state_of(seen, cluster.nodes);
    const bool active = seen.active_on == cluster.nodes;
    const std::string count =
        std::to_string(seen.nodes.size()) + "/" + std::to_string(cluster.nodes);
    view.table.rows.push_back({name, cluster.cluster, count,
                               Cell(state, state == "complete" ? Color::green : Color::yellow),
                               seen.version, active ? "yes" : "no", seen.prefix});
    view.names.push_back(name);
    view.root["environments"].push_back({{"name", name},
                                         {"cluster", cluster.cluster},
                                         {"state", state},
                                         {"version", seen.version},
                                         {"active", active},
                                         {"prefix", seen.prefix},
                                         {"nodes", seen.nodes},
                                         {"of", cluster.nodes}});
  }
}

/// Returns the prefixes to search: the recorded ones, or the default.
std::set<std::string> prefixes_of(EnvCluster& cluster) {
  std::set<std::string> prefixes;
  for (const auto& [name, prefix] : cluster.record().prefix)
    prefixes.insert(prefix);
  if (!cluster.prefix_for("").empty()) prefixes = {cluster.prefix_for("")};
  if (prefixes.empty()) prefixes.insert("");
  return prefixes;
}

/// Adds the cluster's environments to the view. Returns the exit code.
int look(Context& context, EnvCluster& cluster, View& view) {
  ClusterSeen seen{.cluster = cluster.target().cluster.name.value,
                   .nodes = cluster.hosts().size(),
                   .environments = {}};
  int code = 0;
  for (const std::string& prefix : prefixes_of(cluster)) {
    const auto looked = envs::look_at_nodes(cluster.access(), cluster.hosts(), prefix);
    for (const auto& node : looked)
      if (node.ok()) add(seen, node.host, node.value());
    code = std::max(code, report(context, looked));
  }
  show(view, seen);
  return code;
}

std::vector<std::string> clusters_to_look_at(Context& context, const EnvListOptions& options) {
  if (!options.target.cluster.empty()) return {options.target.cluster};
  std::vector<std::string> names;
  for (const state::Cluster& cluster : context.store().clusters())
    if (cluster.state == state::ClusterState::running) names.push_back(cluster.name.value);
  return names;
}

int run(Context& context, const EnvListOptions& options) {
  View view;
  view.when_empty = "no environments; create one: fastgpu env create NAME -f env.yaml";
  view.root = document("environments");
  view.root["environments"] = Json::array();
  view.table.columns = {{"NAME"},    {"CLUSTER"}, {"NODES"},       {"STATE"},
                        {"VERSION"}, {"ACTIVE"},  {"PREFIX", true}};
  int code = 0;
  for (const std::string& name : clusters_to_look_at(context, options)) {
    EnvCluster cluster(context, {.cluster = name, .prefix = options.target.prefix});
    code = std::max(code, look(context, cluster, view));
  }
  context.ui().show(view);
  return code;
}

}  // namespace

Action make_env_list_command(Arguments& arguments) {
  auto options = std::make_shared<EnvListOptions>();
  describe_env_target(arguments, options->target);
  arguments.offer_table();
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
