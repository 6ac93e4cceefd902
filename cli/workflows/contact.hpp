// The first contact with the nodes of `create --detach`.
#pragma once

#include <span>

#include "cli/workflows/services.hpp"

namespace fastgpu::cli {

/// Waits for the unmet nodes among `nodes`. Gives them host keys of their own and the cluster's
/// guards, and publishes the cluster's record. Returns false if all nodes have been met already;
/// then it publishes only a record that was never published. Throws as provision::meet_nodes()
/// does.
bool complete_first_contact(Services& services, const provision::Tools& tools,
                            const state::Cluster& cluster, std::span<const state::Node> nodes);

/// Meets all nodes of the cluster, as above.
bool complete_first_contact(Services& services, const provision::Tools& tools,
                            const state::Cluster& cluster);

/// Reaches all nodes of a cluster whose guards only the nodes enforce, before these guards are
/// changed. Throws if a node cannot be reached, because it could not receive the new guards.
void contact_guard_nodes(Services& services, const provision::Tools& tools,
                         const state::Cluster& cluster);

}  // namespace fastgpu::cli
