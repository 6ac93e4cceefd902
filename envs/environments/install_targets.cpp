#include "envs/environments/install_targets.hpp"

#include <algorithm>

#include "envs/environments/node_status.hpp"

namespace fastgpu::envs {

using agent::EnvironmentStatus;

InstallTargets::InstallTargets(const NodeAccess& access_given, std::span<const ssh::Host> hosts,
                               const InstallationRequest& request_given)
    : access(access_given),
      request(request_given),
      hosts_(hosts),
      failed_(hosts.size()),
      relayed_(hosts.size()) {}

std::vector<HostResult<EnvironmentStatus>> InstallTargets::look(const std::string& prepared) {
  auto looked = look_at_nodes(access, hosts_, request.prefix, prepared);
  statuses_ = those_that_answered(looked);
  alive_.clear();
  failed_.assign(hosts_.size(), std::nullopt);
  for (std::size_t i = 0; i < looked.size(); ++i) {
    if (looked[i].ok())
      alive_.push_back(i);
    else
      failed_[i] = looked[i].error();
  }
  return looked;
}

InstallTargets::Nodes InstallTargets::those_that_lack_it(const Nodes& nodes) {
  if (nodes.empty()) return {};
  const auto looked = look_at_nodes(access, hosts_of(nodes), request.prefix);
  Nodes without;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!looked[i].ok()) {
      fail(nodes[i], looked[i].error());
      continue;
    }
    statuses_[nodes[i]] = looked[i].value();
    if (!has_build(statuses_[nodes[i]])) without.push_back(nodes[i]);
  }
  return without;
}

bool InstallTargets::has_build(const EnvironmentStatus& status) const {
  return std::ranges::any_of(status.versions, [&](const agent::FoundVersion& found) {
    return found.name == request.spec.name && found.version == plan.version &&
           found.manifest == plan.manifest;
  });
}

InstallTargets::Nodes InstallTargets::those_that(bool NodeSteps::*step) const {
  Nodes nodes = all();
  std::erase_if(nodes, [&](std::size_t node) { return !(plan.nodes[node].*step); });
  return nodes;
}

InstallTargets::Nodes InstallTargets::all() const {
  Nodes nodes;
  for (std::size_t node = 0; node < alive_.size(); ++node)
    if (goes_along(node)) nodes.push_back(node);
  return nodes;
}

std::vector<std::pair<std::size_t, agent::Records>> InstallTargets::on_each(
    const Nodes& nodes, const std::string& doing,
    const std::function<NodeCall(std::size_t)>& call_of) {
  const auto hosts = hosts_of(nodes);
  for (const ssh::Host& host : hosts)
    tell(host.name, doing);
  const auto results = call_nodes(
      access, hosts, [&](std::size_t i) { return call_of(nodes[i]); }, request.on_doing);
  std::vector<std::pair<std::size_t, agent::Records>> answers;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (results[i].ok())
      answers.emplace_back(nodes[i], results[i].value());
    else
      fail(nodes[i], results[i].error());
  }
  return answers;
}

agent::Records InstallTargets::on_source(const NodeCall& call) const {
  return call_node(access, source(), call, request.on_doing);
}

void InstallTargets::fail(std::size_t node, const Error& why) {
  if (why.kind() == ErrorKind::interrupted) throw Error(why);
  failed_[alive_[node]] = why;
}

std::vector<ssh::Host> InstallTargets::hosts_of(const Nodes& nodes) const {
  std::vector<ssh::Host> hosts;
  for (const std::size_t node : nodes)
    hosts.push_back(host_of(node));
  return hosts;
}

std::filesystem::path InstallTargets::directory() const {
  return agent::EnvironmentPlaces{prefix()}.version(request.spec.name, plan.version);
}

void InstallTargets::tell(const NodeName& node, const std::string& doing) const {
  if (request.on_doing) request.on_doing(node, doing);
}

InstallationResult InstallTargets::result() const {
  InstallationResult out{.prefix = prefix(), .version = plan.version, .nodes = {}};
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const auto node = static_cast<std::size_t>(std::ranges::find(alive_, i) - alive_.begin());
    if (failed_[i])
      out.nodes.push_back({hosts_[i].name, *failed_[i]});
    else
      out.nodes.push_back({hosts_[i].name, Installed{plan.nodes[node], relayed_[i]}});
  }
  return out;
}

}  // namespace fastgpu::envs
