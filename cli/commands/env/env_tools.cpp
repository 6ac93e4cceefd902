#include "cli/commands/env/env_tools.hpp"

#include <algorithm>

#include "base/contains.hpp"
#include "base/names.hpp"
#include "cli/commands/shared/target_argument.hpp"
#include "cli/workflows/copy_route.hpp"
#include "cli/workflows/lookup.hpp"
#include "cli/workflows/remote_target.hpp"
#include "envs/environments/node_status.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

// Two concurrent changes are a mistake, not a queue.
constexpr std::chrono::milliseconds kNoTimeout{0};

/// Makes --prefix refuse a path that the nodes would take relative to the home directory, and bring
/// the others into one form: a prefix is found again by its text.
void require_absolute(Argument& argument) {
  argument.take = [take = std::move(argument.take), &argument](const std::string& text) {
    const std::filesystem::path path(text);
    if (!path.is_absolute())
      throw Error(ErrorKind::usage, argument.name + ": '" + printable(text) +
                                        "' is not an absolute path: write the full path on the "
                                        "nodes [/srv/envs]");
    const std::string normal = path.lexically_normal().string();
    const bool has_slash = normal.size() > 1 && normal.ends_with('/');
    take(has_slash ? normal.substr(0, normal.size() - 1) : normal);
  };
}

}  // namespace

Argument& describe_env_target(Arguments& arguments, EnvTarget& target) {
  Argument& cluster = describe_cluster_flag(arguments, target.cluster);
  Argument& prefix = arguments.text(
      "--prefix", "DIR",
      "Directory of environments on the nodes (root: /opt/fastgpu/envs, others: ~/.fastgpu/envs)",
      target.prefix);
  require_absolute(shared(prefix));
  return cluster;
}

EnvCluster::EnvCluster(Context& context, const EnvTarget& target, Absent absent)
    : EnvCluster(context, running_nodes(context, usual_cluster(context, target.cluster, "env"),
                                        Access::modify, absent)) {
  given_prefix_ = target.prefix;
}

EnvCluster::EnvCluster(Context& context, RemoteTarget target)
    : context_(context), target_(std::move(target)), record_(envs::read_record(directory())) {}

void EnvCluster::lock() {
  lock_.emplace(context_.store(), target_.cluster.name, kNoTimeout, context_.cancel());
  record_ = envs::read_record(directory());  // Another process may have changed it before.
}

std::filesystem::path EnvCluster::directory() const {
  return state::cluster_directory(context_.state_directory(), target_.cluster.id);
}

envs::NodeAccess EnvCluster::access() const {
  envs::NodeAccess access = node_access(context_);
  access.cluster = target_.cluster.id.value;
  return access;
}

std::string EnvCluster::prefix_for(const std::string& name) const {
  if (!given_prefix_.empty()) return given_prefix_;
  const auto found = record_.prefix.find(name);
  return found == record_.prefix.end() ? "" : found->second;
}

PrefixQueue EnvCluster::prefixes() const {
  if (!given_prefix_.empty()) return {{given_prefix_}, Reported::ignored};
  std::vector<std::string> all = {""};
  all.insert(all.end(), record_.used_prefixes.begin(), record_.used_prefixes.end());
  return {std::move(all), Reported::visited};
}

std::string EnvCluster::find(const std::string& name) {
  agent::check_environment_name(name);
  const auto known = record_.prefix.find(name);
  if (known != record_.prefix.end() && (given_prefix_.empty() || given_prefix_ == known->second))
    return known->second;
  std::vector<Answers> all;
  PrefixQueue places = prefixes();
  while (const auto prefix = places.next()) {
    all.push_back(ask(*prefix, target_.nodes));
    for (const envs::MachineStatus& machine : all.back().found)
      places.add(machine.status);
  }
  // Another process may have changed the record meanwhile.
  auto record = envs::read_record(directory());
  record.prefix.erase(name);
  record.machines.erase(name);
  for (const Answers& answers : all)
    take_up(record, answers.found);
  const auto found = record.prefix.find(name);
  if (found == record.prefix.end()) {
    for (const Answers& answers : all)
      if (!answers.failures.empty()) throw Error(answers.failures.front());
    throw Error(ErrorKind::not_found,
                "there is no environment '" + name + "' on the nodes of cluster '" +
                    target_.cluster.name.value + "'; fastgpu env list shows the environments");
  }
  record_ = std::move(record);
  store_record();
  return record_.prefix.at(name);
}

void EnvCluster::require_on(const std::string& name, std::span<const NodeName> nodes) {
  const auto those_without = [&] {
    std::vector<state::Node> those;
    for (const state::Node& node : target_.nodes)
      if (contains(nodes, node.name) && !envs::is_on(record_, name, node.token))
        those.push_back(node);
    return those;
  };
  auto without = those_without();
  if (without.empty()) return;
  const Answers answers = ask(find(name), without);
  record_ = envs::read_record(directory());
  take_up(record_, answers.found);
  store_record();
  without = those_without();
  if (without.empty()) return;
  if (!answers.failures.empty()) throw Error(answers.failures.front());
  std::vector<std::string> names;
  for (const state::Node& node : without)
    names.push_back(node.name.value);
  throw Error(ErrorKind::not_found, fold_names(names) + (names.size() == 1 ? " does" : " do") +
                                        " not have environment '" + name +
                                        "': fastgpu env create " + name + " --cluster " +
                                        target_.cluster.name.value + " copies it there");
}

EnvCluster::Answers EnvCluster::ask(const std::string& prefix,
                                    std::span<const state::Node> nodes) const {
  std::vector<ssh::Host> hosts;
  for (const state::Node& node : nodes)
    hosts.push_back(*std::ranges::find(target_.hosts, node.name, &ssh::Host::name));
  const auto looked = envs::look_at_nodes(access(), hosts, prefix);
  Answers answers;
  for (std::size_t i = 0; i < looked.size(); ++i) {
    if (looked[i].ok())
      answers.found.push_back({nodes[i].token, looked[i].value()});
    else
      answers.failures.push_back(looked[i].error());
  }
  return answers;
}

void EnvCluster::note_given_prefix() {
  if (!given_prefix_.empty() && record_.used_prefixes.insert(given_prefix_).second) store_record();
}

void EnvCluster::note_made(const std::string& name, const envs::InstallationResult& result) {
  record_.prefix[name] = result.prefix;
  record_.used_prefixes.insert(result.prefix);
  for (const auto& outcome : result.nodes) {
    const auto node = std::ranges::find(target_.nodes, outcome.host, &state::Node::name);
    if (node == target_.nodes.end()) continue;
    if (outcome.ok())
      record_.machines[name].insert(node->token);
    else
      record_.machines[name].erase(node->token);
  }
  store_record();
}

void EnvCluster::store_record() const {
  envs::write_record(directory(), record_);
}

std::vector<HostResult<agent::Records>> EnvCluster::call(
    const std::vector<std::string>& words) const {
  return envs::call_nodes(access(), hosts(),
                          [&](std::size_t) { return envs::NodeCall{.words = words}; }, {});
}

std::vector<EnvBuild> find_builds(const EnvCluster& cluster, const std::string& name) {
  const envs::NodeAccess access = cluster.access();
  const auto looked = envs::look_at_nodes(access, cluster.hosts(), cluster.prefix_for(name));
  access.cancel.check();  // Nodes that were not asked seem to have nothing.
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
  return builds;
}

std::vector<EnvBuild> complete_builds(const EnvCluster& cluster, const std::string& name) {
  auto builds = find_builds(cluster, name);
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

void describe_named_environment(Arguments& arguments, std::string& name, EnvTarget& target) {
  Argument& environment = arguments.text("NAME", "", "The environment", name);
  environment.required = true;
  environment.values = Values::environment;
  describe_env_target(arguments, target);
}

}  // namespace fastgpu::cli
