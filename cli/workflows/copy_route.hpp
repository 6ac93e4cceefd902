// Connections between the nodes of a cluster, for copies from node to node.
#pragma once

#include "cli/workflows/remote_target.hpp"
#include "envs/environments/nodes.hpp"
#include "remote/relay.hpp"

namespace fastgpu::cli {

/// Returns the access to the agent, by the user's settings.
envs::NodeAccess node_access(Services& services);

/// Returns true if the cluster has a key with which its nodes may log in to each other.
bool has_own_key(Services& services, const state::Cluster& cluster);

/// Installs the cluster's key, the pinned host keys and a configuration of ssh on every node, as
/// jobs do on their first node.
remote::NodeRoute make_route(Services& services, const RemoteTarget& target);

}  // namespace fastgpu::cli
