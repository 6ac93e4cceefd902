#include "provision/providers/static/static_provider.hpp"

#include <string>

#include "provision/providers/static/hosts.hpp"

namespace fastgpu::provision {
namespace {

const StaticHost& host_at(const std::vector<StaticHost>& hosts, const state::Cluster& cluster,
                          int index) {
  const auto position = static_cast<std::size_t>(index);
  if (position < hosts.size()) return hosts[position];
  throw Error(ErrorKind::usage,
              "cluster '" + cluster.name.value + "' was made of " + std::to_string(hosts.size()) +
                  " listed hosts, and node " + std::to_string(index) +
                  " is none of them: list more hosts in a file and create a cluster from that");
}

Instance instance_of(const StaticHost& host, int index) {
  return {.index = index,
          .id = host.address + " port " + std::to_string(host.port),
          .token = {},
          .state = InstanceState::running,
          .address = host.address,
          .private_address = host.address,
          .port = host.port};
}

[[noreturn]] void refuse_switching(const state::Cluster& cluster, const std::string& verb) {
  throw Error(ErrorKind::usage, "a static cluster cannot be " + verb + ": the hosts of '" +
                                    cluster.name.value +
                                    "' are not fastgpu's to switch on and off");
}

}  // namespace

void StaticProvider::describe_node(const state::Cluster& cluster, state::Node& node) const {
  const std::vector<StaticHost> hosts = parse_spec_json(cluster);
  const StaticHost& host = host_at(hosts, cluster, node.index);
  if (host.host_keys.empty())
    throw Error(ErrorKind::denied, "no host key of " + host.address +
                                       " is known: put it into the file (host_key) or into "
                                       "known_hosts, or look at its fingerprint and use "
                                       "--accept-host-keys");
  if (!host.name.empty()) node.name = {host.name};
  if (!host.user.empty()) node.user = host.user;
  node.slots = host.slots.value_or(node.slots);
  node.identity_file = host.identity;
  node.host_keys = host.host_keys;
  node.jumps = host.jumps;
}

std::vector<HostResult<Instance>> StaticProvider::create(const state::Cluster& cluster,
                                                         std::span<const NodeRequest> requests,
                                                         const Cancel& /*cancel*/) {
  const std::vector<StaticHost> hosts = parse_spec_json(cluster);
  std::vector<HostResult<Instance>> results;
  for (const NodeRequest& request : requests) {
    Instance adopted = instance_of(host_at(hosts, cluster, request.index), request.index);
    adopted.token = request.token;
    results.push_back({request.name, std::move(adopted)});
  }
  return results;
}

std::vector<Instance> StaticProvider::list(const state::Cluster& cluster) {
  std::vector<Instance> instances;
  for (const StaticHost& host : parse_spec_json(cluster))
    instances.push_back(instance_of(host, static_cast<int>(instances.size())));
  return instances;
}

std::vector<HostResult<Instance>> StaticProvider::start(const state::Cluster& cluster,
                                                        std::span<const state::Node> /*nodes*/,
                                                        const Cancel& /*cancel*/) {
  refuse_switching(cluster, "started");
}

std::vector<HostResult<Instance>> StaticProvider::stop(const state::Cluster& cluster,
                                                       std::span<const state::Node> /*nodes*/,
                                                       const Cancel& /*cancel*/) {
  refuse_switching(cluster, "stopped");
}

std::vector<HostResult<Instance>> StaticProvider::destroy(const state::Cluster& /*cluster*/,
                                                          std::span<const state::Node> nodes) {
  std::vector<HostResult<Instance>> results;
  for (const state::Node& node : nodes)
    results.push_back({node.name, Instance{.index = node.index,
                                           .id = node.instance_id,
                                           .token = node.token,
                                           .state = InstanceState::gone}});
  return results;
}

}  // namespace fastgpu::provision
