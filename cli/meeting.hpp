// The first contact with nodes of `create --detach`.
#pragma once

#include <span>

#include "cli/context.hpp"

namespace fastgpu::cli {

/// Waits for those of `nodes` that nobody has reached yet, gives them host keys of their own, tells
/// them of guards, and has the head node keep the cluster's record; false where there is nothing of
/// that to do. Throws as provision::meet_nodes does.
bool meet(Context& context, const provision::Tools& tools, const state::Cluster& cluster,
          std::span<const state::Node> nodes);

/// Where those of `nodes` answer that run and have been met.
std::vector<ssh::Host> met_hosts(Context& context, const state::Cluster& cluster,
                                 const std::vector<state::Node>& nodes);

/// Meets all nodes of the cluster.
bool meet(Context& context, const provision::Tools& tools, const state::Cluster& cluster);

}  // namespace fastgpu::cli
