// How the nodes of a cluster reach each other, for copies from node to node.
#pragma once

#include "cli/commands/env_tools.hpp"

namespace fastgpu::cli {

/// Puts the cluster's key, the pinned host keys and ssh's configuration on every node, as jobs do
/// on their first one.
envs::NodeRoute make_route(Context& context, const EnvCluster& cluster);

}  // namespace fastgpu::cli
