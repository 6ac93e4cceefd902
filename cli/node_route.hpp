// How the nodes of a cluster reach each other, for copies from node to node.
#pragma once

#include "cli/commands/remote_output.hpp"
#include "envs/environments/nodes.hpp"
#include "remote/relay.hpp"

namespace fastgpu::cli {

/// Calls of the agent, as the settings have them.
envs::NodeAccess node_access(Context& context);

/// Whether the cluster has a key that its nodes may use among themselves.
bool has_own_key(Context& context, const state::Cluster& cluster);

/// Puts the cluster's key, the pinned host keys and ssh's configuration on every node, as jobs do
/// on their first one.
remote::NodeRoute make_route(Context& context, const RemoteTarget& target);

}  // namespace fastgpu::cli
