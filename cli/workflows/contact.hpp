// The first contact with nodes of `create --detach`.
#pragma once

#include <span>

#include "cli/workflows/services.hpp"

namespace fastgpu::cli {

/// Waits for those of `nodes` that have not been reached yet, and gives them host keys of their own
/// and their guards' orders. Has the head node keep the cluster's record. Returns false if all of
/// that is done already. Throws as provision::meet_nodes does.
bool complete_first_contact(Services& services, const provision::Tools& tools,
                            const state::Cluster& cluster, std::span<const state::Node> nodes);

/// Meets all nodes of the cluster.
bool complete_first_contact(Services& services, const provision::Tools& tools,
                            const state::Cluster& cluster);

/// Meets the nodes of a cluster whose guards nodes alone hold, before its guards become others.
/// Throws where they cannot be reached: nothing would hold the new ones.
void contact_guard_nodes(Services& services, const provision::Tools& tools,
                         const state::Cluster& cluster);

}  // namespace fastgpu::cli
