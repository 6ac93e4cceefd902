#include "cli/workflows/copy_route.hpp"

#include "base/file_status.hpp"
#include "base/files.hpp"
#include "cli/workflows/cluster_hosts.hpp"
#include "launcher/job_files.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

constexpr int kMostRoutes = 1'024;

launcher::ClusterAccess access_of(Services& services, const state::Cluster& cluster) {
  const auto key = state::identity_file(services.state_directory(), cluster.id);
  const auto text = read_file(key);
  if (!text)
    throw Error(ErrorKind::local,
                "the key of cluster " + cluster.name.value + " is missing: " + key.string());
  return {.cluster_id = cluster.id.value, .private_key = Secret(*text)};
}

std::vector<launcher::Peer> peers_of(Services& services, const RemoteTarget& target) {
  const ClusterHosts where(services.store(), target.cluster);
  std::vector<launcher::Peer> peers;
  for (const state::Node& node : target.nodes)
    peers.push_back(where.peer(node));
  return peers;
}

}  // namespace

envs::NodeAccess node_access(Services& services) {
  return {.client = services.ssh(),
          .agent = services.agent(),
          .options = {.width = services.settings().integer("fanout", 1, kMostRoutes),
                      .connect_timeout = services.settings().duration("connect-timeout"),
                      .silence = services.settings().duration("answer-timeout"),
                      .keeps_connections = true},
          .cancel = services.cancel()};
}

bool has_own_key(Services& services, const state::Cluster& cluster) {
  return path_exists(state::identity_file(services.state_directory(), cluster.id));
}

remote::NodeRoute make_route(Services& services, const RemoteTarget& target) {
  const auto access = access_of(services, target.cluster);
  const auto peers = peers_of(services, target);
  const std::string prefix = launcher::access_prefix(access, peers);
  const auto nodes = node_access(services);
  const auto facts = envs::call_nodes(
      nodes, target.hosts, [](std::size_t) { return envs::NodeCall{.words = {"facts"}}; }, {});
  envs::call_nodes(nodes, target.hosts,
                   [&](std::size_t i) {
                     if (!facts[i].ok()) return envs::NodeCall{.words = {"version"}};
                     const auto node = agent::parse_node_facts(facts[i].value().text());
                     return envs::NodeCall{.words = {"put-files", ".fastgpu"},
                                           .input = encode_files(launcher::access_files(
                                               access, peers, node, prefix))};
                   },
                   {});
  remote::NodeRoute route{.config = ".fastgpu/" + prefix + "ssh_config", .names = {}};
  for (std::size_t i = 0; i < peers.size(); ++i)
    route.names.push_back(launcher::mpirun_name(peers[i], i));
  return route;
}

}  // namespace fastgpu::cli
