#include "provision/providers/static/static_provider.hpp"

#include <algorithm>
#include <string>

#include "base/contains.hpp"
#include "base/counted.hpp"
#include "base/fault_point.hpp"
#include "provision/failures.hpp"
#include "provision/providers/static/hosts.hpp"
#include "provision/providers/static/same_host.hpp"

namespace fastgpu::provision {
namespace {

const StaticHost& host_at(const std::vector<StaticHost>& hosts, const state::Cluster& cluster,
                          int index) {
  const auto position = static_cast<std::size_t>(index);
  if (position < hosts.size()) return hosts[position];
  throw Error(ErrorKind::usage,
              "cluster '" + cluster.name.value + "' was made of " + std::to_string(hosts.size()) +
                  " listed hosts, and node " + std::to_string(index) +
                  " is not among them: list more hosts in a file and create a cluster from that");
}

Instance instance_of(const StaticHost& host, int index) {
  return {.index = index,
          .id = host.address + " port " + std::to_string(host.port),
          .token = {},
          .state = InstanceState::running,
          .address = host.address,
          .private_address = host.inner.empty() ? host.address : host.inner,
          .port = host.port};
}

NodeName name_of(const state::Cluster& cluster, const StaticHost& host, int index) {
  if (!host.name.empty()) return {host.name};
  return {cluster.name.value + "-" + std::to_string(index)};
}

std::string place_of(const StaticHost& host) {
  std::string place = host.name.empty() ? "" : host.name + " ";
  place += host.user.empty() ? host.address : host.user + "@" + host.address;
  return place + " port " + std::to_string(host.port);
}

/// Returns true if two hosts are the same one for a cluster: only the user's own login may differ.
bool is_same(const StaticHost& a, const StaticHost& b) {
  const auto is_same_jump = [](const StaticJump& x, const StaticJump& y) {
    return x.address == y.address && x.port == y.port && x.user == y.user;
  };
  return place_of(a) == place_of(b) && a.slots == b.slots && a.host_keys == b.host_keys &&
         a.inner == b.inner && a.inner_port == b.inner_port &&
         std::ranges::equal(a.jumps, b.jumps, is_same_jump);
}

/// Adds the hosts that have answered.
void add_identified(std::vector<IdentifiedHost>& hosts, const state::Cluster& cluster,
                    std::span<const HostLogin> logins, const HostAccess::Identities& identities) {
  for (std::size_t i = 0; i < logins.size(); ++i)
    if (identities[i].ok())
      hosts.push_back({place_of(host_at(cluster.hosts(), cluster, logins[i].node.index)),
                       identities[i].value()});
}

[[noreturn]] void refuse_switching(const state::Cluster& cluster, const std::string& verb) {
  throw Error(ErrorKind::usage, "a static cluster cannot be " + verb + ": the hosts of '" +
                                    cluster.name.value +
                                    "' cannot be switched on or off by fastgpu");
}

}  // namespace

void StaticProvider::describe_node(const state::Cluster& cluster, state::Node& node) const {
  const std::vector<StaticHost>& hosts = cluster.hosts();
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
  node.jumps.clear();
  for (const StaticJump& jump : host.jumps)
    node.jumps.push_back({jump.address, jump.port, jump.user, jump.host_keys});
}

HostLogin StaticProvider::login_of(const state::Cluster& cluster, int index) const {
  const std::vector<StaticHost>& hosts = cluster.hosts();
  const StaticHost& host = host_at(hosts, cluster, index);
  state::Node node{.cluster = cluster.id,
                   .index = index,
                   .name = name_of(cluster, host, index),
                   .address = host.address,
                   .port = host.port,
                   .user = cluster.user};
  describe_node(cluster, node);
  return {std::move(node), "fastgpu-" + cluster.id.value + "-" + std::to_string(index)};
}

std::vector<HostLogin> StaticProvider::logins_of(const state::Cluster& cluster,
                                                 std::span<const state::Node> nodes) const {
  std::vector<HostLogin> logins;
  for (const state::Node& node : nodes)
    logins.push_back(login_of(cluster, node.index));
  return logins;
}

std::vector<int> StaticProvider::new_indexes(const state::Cluster& cluster,
                                             const std::set<int>& taken, int count) const {
  const int listed = static_cast<int>(cluster.hosts().size());
  std::vector<int> indexes = Provider::new_indexes(cluster, taken, count);
  if (indexes.empty() || indexes.back() < listed) return indexes;
  throw Error(ErrorKind::usage,
              "cluster '" + cluster.name.value + "' cannot have " +
                  counted(taken.size() + static_cast<std::size_t>(count), "node") +
                  ": its file listed " + counted(listed, "host") +
                  "; list more of them in a file and create a cluster from that");
}

void StaticProvider::check_nodes(const state::Cluster& cluster, std::span<const state::Node> nodes,
                                 std::span<const state::Node> present, const Cancel& cancel) {
  const std::vector<HostLogin> logins = logins_of(cluster, nodes);
  const auto checked = access_.check(cluster, logins, cancel);
  std::vector<NodeFailure> failures;
  add_failures(failures, checked);
  cancel.check();
  throw_failures("logging in", failures);
  const std::vector<HostLogin> earlier = logins_of(cluster, present);
  std::vector<IdentifiedHost> hosts;
  add_identified(hosts, cluster, earlier, access_.identify(cluster, earlier, cancel));
  add_identified(hosts, cluster, logins, checked);
  cancel.check();
  require_different_hosts(hosts);
}

std::string StaticProvider::difference(const state::Cluster& there,
                                       const state::ProviderSpec& wanted) const {
  const std::vector<StaticHost>& now = there.hosts();
  const std::vector<StaticHost>& then = std::get<state::StaticSpec>(wanted).hosts;
  for (std::size_t i = 0; i < std::min(now.size(), then.size()); ++i) {
    if (is_same(now[i], then[i])) continue;
    if (place_of(now[i]) != place_of(then[i]))
      return "with host " + place_of(now[i]) + ", not " + place_of(then[i]);
    if (now[i].host_keys != then[i].host_keys)
      return "with another host key for " + place_of(now[i]) + " (`fastgpu start cluster " +
             there.name.value + " --accept-host-keys` pins keys that have changed)";
    return "with another jump host, inner address or number of slots for " + place_of(now[i]);
  }
  if (now.size() == then.size()) return "";
  return "made of " + std::to_string(now.size()) + " listed hosts, not " +
         std::to_string(then.size());
}

std::vector<HostResult<Instance>> StaticProvider::create(const state::Cluster& cluster,
                                                         std::span<const NodeRequest> requests,
                                                         const Cancel& cancel) {
  const std::vector<StaticHost>& hosts = cluster.hosts();
  if (requests.empty()) return {};
  std::vector<HostLogin> logins;
  for (const NodeRequest& request : requests)
    logins.push_back(login_of(cluster, request.index));
  const auto opened = access_.open(cluster, logins, requests.front().authorized_key, cancel);
  fault_point("static:opened");
  std::vector<HostResult<Instance>> results;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!opened[i].ok()) {
      results.push_back({requests[i].name, opened[i].error()});
      continue;
    }
    Instance adopted = instance_of(host_at(hosts, cluster, requests[i].index), requests[i].index);
    adopted.token = requests[i].token;
    results.push_back({requests[i].name, std::move(adopted)});
  }
  return results;
}

std::vector<Instance> StaticProvider::list(const state::Cluster& cluster,
                                           const Cancel& /*cancel*/) {
  std::vector<Instance> instances;
  for (const StaticHost& host : cluster.hosts())
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

std::vector<HostResult<Instance>> StaticProvider::destroy(const state::Cluster& cluster,
                                                          std::span<const state::Node> nodes) {
  const std::vector<HostLogin> logins = logins_of(cluster, nodes);
  const auto closed = access_.close(cluster, logins);
  fault_point("static:closed");
  std::vector<HostResult<Instance>> results;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Instance forgotten{.index = nodes[i].index,
                       .id = nodes[i].instance_id,
                       .token = nodes[i].token,
                       .state = InstanceState::gone};
    if (!closed[i].ok())
      forgotten.left_behind = std::string(closed[i].error().what()) + "; the line that ends in " +
                              logins[i].mark + " stays in ~/.ssh/authorized_keys there";
    results.push_back({nodes[i].name, std::move(forgotten)});
  }
  return results;
}

}  // namespace fastgpu::provision
