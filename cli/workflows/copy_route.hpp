// The way of a cluster's nodes to each other, for copies from node to node.
#pragma once

#include "cli/workflows/remote_target.hpp"
#include "envs/environments/nodes.hpp"
#include "remote/relay.hpp"

namespace fastgpu::cli {

/// Returns the access to the agent with the values of the settings.
envs::NodeAccess node_access(Services& services);

/// Returns true if the cluster has a key that its nodes may use among themselves.
bool has_own_key(Services& services, const state::Cluster& cluster);

/// Puts the cluster's key, the pinned host keys and ssh's configuration on every node, as jobs do
/// on their first one.
remote::NodeRoute make_route(Services& services, const RemoteTarget& target);

}  // namespace fastgpu::cli
