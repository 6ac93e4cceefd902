#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/env/env_tools.hpp"
#include "cli/commands/env/found_environments.hpp"
#include "cli/workflows/remote_target.hpp"
#include "envs/environments/node_status.hpp"

namespace fastgpu::cli {
namespace {

struct EnvListOptions {
  EnvTarget target;
};

void show(View& view, const EnvCluster& cluster, const FoundEnvironments& found) {
  const std::string& on = cluster.target().cluster.name.value;
  const std::size_t nodes = cluster.hosts().size();
  for (const auto& [key, environment] : found.all()) {
    const auto& [name, prefix] = key;
    const std::string state = state_of(environment, nodes);
    const bool active = environment.active_on == nodes;
    const std::string count =
        std::to_string(environment.nodes.size()) + "/" + std::to_string(nodes);
    view.table.rows.push_back({name, on, count,
                               Cell(state, state == "complete" ? Color::green : Color::yellow),
                               environment.version, active ? "yes" : "no", prefix});
    view.names.push_back(name);
    view.root["environments"].push_back({{"name", name},
                                         {"cluster", on},
                                         {"state", state},
                                         {"version", environment.version},
                                         {"active", active},
                                         {"prefix", prefix},
                                         {"nodes", environment.nodes},
                                         {"of", nodes}});
  }
}

/// The answers of the nodes of a cluster.
struct Found {
  FoundEnvironments environments{};
  std::vector<std::pair<NodeName, Error>> failures{};  ///< One for each node without an answer.
};

Found look(const EnvCluster& cluster) {
  Found all;
  auto& [found, failures] = all;
  PrefixQueue prefixes = cluster.prefixes();
  while (const auto prefix = prefixes.next()) {
    if (found.reports_of(*prefix) == cluster.hosts().size()) continue;
    for (const auto& node : envs::look_at_nodes(cluster.access(), cluster.hosts(), *prefix)) {
      if (node.ok()) {
        found.add(node.host, node.value());
        prefixes.add(node.value());
      } else if (!contains(failures, node.host, &std::pair<NodeName, Error>::first)) {
        failures.emplace_back(node.host, node.error());
      }
    }
  }
  return all;
}

bool runs(Context& context, const std::string& name) {
  return std::ranges::any_of(context.store().clusters(), [&](const state::Cluster& cluster) {
    return cluster.name.value == name && cluster.state == state::ClusterState::running;
  });
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
  const bool is_named = !options.target.cluster.empty();
  for (const std::string& name : clusters_to_look_at(context, options)) {
    // Another process may delete a cluster after it was listed.
    const auto is_gone = [&] { return !is_named && !runs(context, name); };
    try {
      const EnvCluster cluster(context, {.cluster = name, .prefix = options.target.prefix},
                               Absent::noted);
      const Found found = look(cluster);
      if (is_gone()) continue;
      code = std::max(code, report_failures(context, found.failures));
      show(view, cluster, found.environments);
    } catch (const Error&) {
      if (!is_gone()) throw;
    }
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
