#include "cli/workflows/cluster_hosts.hpp"

#include <unistd.h>

#include <algorithm>

#include "provision/cloud/cloud_spec.hpp"
#include "provision/providers.hpp"
#include "provision/providers/local/rootless/world.hpp"
#include "state/directory.hpp"
#include "state/silence.hpp"

namespace fastgpu::cli {

bool has_head_alone(const state::Cluster& cluster) {
  return provision::is_cloud(cluster.provider) &&
         cluster.cloud().public_address == state::PublicAddress::head;
}

bool is_behind_head(const state::Node& node) {
  return node.index != provision::cloud::kHead && node.address == node.private_address;
}

ClusterHosts::ClusterHosts(const state::Store& store, state::Cluster cluster)
    : directory_(store.directory()), cluster_(std::move(cluster)) {
  if (provision::provider_info(cluster_.provider).needs_hosts_file) {
    listed_ = cluster_.hosts();
    key_source_.remedy = "if it was installed anew: `fastgpu start cluster " + cluster_.name.value +
                         " --accept-host-keys`";
  }
  key_source_.origin = "which cluster " + cluster_.name.value + " has pinned";
  if (!has_head_alone(cluster_)) return;
  const std::vector<state::Node> nodes = store.nodes(cluster_.id);
  if (!nodes.empty()) head_ = without_head(nodes.front());
}

ssh::Host ClusterHosts::of(const state::Node& node) const {
  ssh::Host host = without_head(node);
  if (head_ && is_behind_head(node)) host.jumps = {*head_};
  return host;
}

launcher::Peer ClusterHosts::peer(const state::Node& node) const {
  launcher::Peer peer{.address = node.private_address.empty() ? node.address : node.private_address,
                      .port = node.port,
                      .user = node.user.empty() ? cluster_.user : node.user,
                      .host_keys = node.host_keys};
  const auto index = static_cast<std::size_t>(node.index);
  if (index < listed_.size() && !listed_[index].inner.empty()) {
    peer.address = listed_[index].inner;
    peer.port = listed_[index].inner_port;
  }
  return peer;
}

ssh::Host ClusterHosts::without_head(const state::Node& node) const {
  const std::filesystem::path key = state::identity_file(directory_, cluster_.id);
  const std::filesystem::path own = node.identity_file;
  ssh::Host host{.name = node.name,
                 .address = node.address,
                 .port = node.port,
                 .user = node.user.empty() ? cluster_.user : node.user,
                 .identity = key,
                 .host_keys = node.host_keys};
  host.silence_note = state::silence_file(directory_, cluster_.id, node.name);
  host.key_source = key_source_;
  host.is_on_this_machine = provision::provider_info(cluster_.provider).has_local_nodes;
  if (host.is_on_this_machine && ::geteuid() != 0)
    host.socket_broker =
        provision::local::world_socket_broker(provision::local::world_folder(directory_));
  for (const state::JumpHost& jump : node.jumps)
    host.jumps.push_back({.name = {jump.address},
                          .address = jump.address,
                          .port = jump.port,
                          .user = jump.user,
                          .identity = own.empty() ? key : own,
                          .host_keys = jump.host_keys,
                          .key_source = key_source_});
  const auto index = static_cast<std::size_t>(node.index);
  if (index < listed_.size()) apply_listed(listed_[index], ssh::Login::with_identity, host);
  return host;
}

void apply_listed(const provision::StaticHost& listed, ssh::Login who, ssh::Host& host) {
  for (std::size_t i = 0; i < std::min(host.jumps.size(), listed.jumps.size()); ++i)
    if (!listed.jumps[i].identity.empty()) host.jumps[i].identity = listed.jumps[i].identity;
  if (!listed.openssh || (who == ssh::Login::with_identity && !listed.openssh->always)) return;
  host.openssh = {.login = who,
                  .name = listed.openssh->name,
                  .config = listed.openssh->config,
                  .proxy = listed.openssh->proxy,
                  .agent = {}};
  if (who == ssh::Login::as_user) host.identity = listed.openssh->identity;
  // Jump hosts need the user's key, even if the host behind them accepts the cluster's key.
  for (std::size_t i = 0; i < std::min(host.jumps.size(), listed.jumps.size()); ++i) {
    const std::string& own = listed.jumps[i].identity;
    host.jumps[i].identity = own.empty() ? listed.openssh->identity : own;
    host.jumps[i].openssh = {.login = ssh::Login::as_user,
                             .name = {},
                             .config = listed.openssh->config,
                             .proxy = {},
                             .agent = {}};
  }
}

ssh::Host to_host(const state::Store& store, const state::Cluster& cluster,
                  const state::Node& node) {
  return ClusterHosts(store, cluster).of(node);
}

}  // namespace fastgpu::cli
