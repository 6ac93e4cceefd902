#include "cli/commands/env_tools.hpp"

#include "cli/commands/lookup.hpp"
#include "cli/node_route.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::chrono::milliseconds kPatience{0};  // Two at once are a mistake rather than a queue.

}  // namespace

void describe_env_target(Arguments& arguments, EnvTarget& target) {
  Argument& cluster = arguments.text("--cluster", "CLUSTER[/NODES]",
                                     "Whose nodes (the only cluster)", target.cluster);
  cluster.letter = "-c";
  cluster.values = Values::target;
  arguments.text("--prefix", "DIR",
                 "Where environments lie on the nodes (root: /opt/fastgpu/envs, others: "
                 "~/.fastgpu/envs)",
                 target.prefix);
}

EnvCluster::EnvCluster(Context& context, const EnvTarget& target)
    : context_(context),
      given_prefix_(target.prefix),
      target_(running_nodes(context, usual_cluster(context, target.cluster, "env"))),
      record_(envs::read_record(directory())) {}

void EnvCluster::lock() {
  lock_.emplace(context_.state_directory(), target_.cluster.name, kPatience, context_.cancel());
}

std::filesystem::path EnvCluster::directory() const {
  return state::cluster_directory(context_.state_directory(), target_.cluster.id);
}

envs::NodeAccess EnvCluster::access() const {
  return node_access(context_);
}

std::string EnvCluster::prefix_for(const std::string& name) const {
  if (!given_prefix_.empty()) return given_prefix_;
  const auto found = record_.prefix.find(name);
  return found == record_.prefix.end() ? "" : found->second;
}

void EnvCluster::store_record() const {
  envs::write_record(directory(), record_);
}

std::vector<HostResult<agent::Records>> EnvCluster::call(
    const std::vector<std::string>& words) const {
  return envs::call_nodes(access(), hosts(),
                          [&](std::size_t) { return envs::NodeCall{.words = words}; }, {});
}

std::vector<EnvBuild> complete_builds(EnvCluster& cluster, const std::string& name) {
  const auto looked =
      envs::look_at_nodes(cluster.access(), cluster.hosts(), cluster.prefix_for(name));
  std::vector<EnvBuild> builds;
  for (std::size_t i = 0; i < looked.size(); ++i) {
    if (!looked[i].ok()) continue;
    for (const agent::FoundVersion& found : looked[i].value().versions)
      if (found.name == name && found.current && !found.manifest.empty())
        builds.push_back({.host = cluster.hosts()[i],
                          .version = found.version,
                          .manifest = found.manifest,
                          .directory = agent::EnvironmentPlaces{looked[i].value().prefix}.version(
                              name, found.version)});
  }
  if (builds.empty())
    throw Error(ErrorKind::not_found,
                "no node of the cluster has environment '" + name + "' complete");
  return builds;
}

int report_failures(Context& context, const std::vector<std::pair<NodeName, Error>>& failures) {
  for (const auto& [node, error] : failures)
    context.ui().error_data(host_line(node, error.what()));
  return failures.empty() ? 0 : exit_code(failures.front().second.kind());
}

}  // namespace fastgpu::cli
