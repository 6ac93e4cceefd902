// The nodes of a cluster as hosts of SSH.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "launcher/access.hpp"
#include "provision/providers/static/hosts.hpp"
#include "ssh/host.hpp"
#include "state/store.hpp"

namespace fastgpu::cli {

/// The addresses, keys and jump hosts by which SSH reaches the nodes of a cluster.
class ClusterHosts {
 public:
  ClusterHosts(const state::Store& store, state::Cluster cluster);

  /// Returns the host of `node`. A node without a public address is reached through the head, as
  /// the store knew it when this object was made.
  ssh::Host of(const state::Node& node) const;

  /// Returns how the other nodes of the cluster reach `node`.
  launcher::Peer peer(const state::Node& node) const;

 private:
  ssh::Host without_head(const state::Node& node) const;

  std::filesystem::path directory_;
  state::Cluster cluster_;
  std::optional<ssh::Host> head_{};
  ssh::KnownKeySource key_source_{};
  // The hosts of a static cluster, by the nodes' indexes.
  std::vector<provision::StaticHost> listed_{};
};

/// Sets how `host` of a static cluster is reached by `who`: by OpenSSH's client if `listed`
/// requires it, and through jump hosts with their own identities.
void apply_listed(const provision::StaticHost& listed, ssh::Login who, ssh::Host& host);

/// Returns the host of one node, as ClusterHosts::of() does.
ssh::Host to_host(const state::Store& store, const state::Cluster& cluster,
                  const state::Node& node);

/// Returns true if only the head of the cluster gets a public address.
bool has_head_alone(const state::Cluster& cluster);
/// Returns true if `node` of such a cluster has no public address.
bool is_behind_head(const state::Node& node);

}  // namespace fastgpu::cli
