// The first contact with nodes of `create --detach`.
#pragma once

#include <span>

#include "cli/context.hpp"

namespace fastgpu::cli {

/// Waits for those of `nodes` that have not been reached yet, and gives them host keys of their own
/// and their guards' orders. Has the head node keep the cluster's record. Returns false if all of
/// that is done already. Throws as provision::meet_nodes does.
bool meet(Context& context, const provision::Tools& tools, const state::Cluster& cluster,
          std::span<const state::Node> nodes);

/// Returns the hosts of those of `nodes` that run and have been met.
std::vector<ssh::Host> met_hosts(Context& context, const state::Cluster& cluster,
                                 const std::vector<state::Node>& nodes);

/// Meets all nodes of the cluster.
bool meet(Context& context, const provision::Tools& tools, const state::Cluster& cluster);

}  // namespace fastgpu::cli
