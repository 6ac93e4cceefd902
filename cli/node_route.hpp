// The way of a cluster's nodes to each other, for copies from node to node.
#pragma once

#include "cli/commands/remote_output.hpp"
#include "envs/environments/nodes.hpp"
#include "remote/relay.hpp"

namespace fastgpu::cli {

/// Returns the access to the agent with the values of the settings.
envs::NodeAccess node_access(Context& context);

/// Returns true if the cluster has a key that its nodes may use among themselves.
bool has_own_key(Context& context, const state::Cluster& cluster);

/// Puts the cluster's key, the pinned host keys and ssh's configuration on every node, as jobs do
/// on their first one.
remote::NodeRoute make_route(Context& context, const RemoteTarget& target);

}  // namespace fastgpu::cli
