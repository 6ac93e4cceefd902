// Nodes of a creation that did not wait for them. The first command that needs them waits for them
// and completes their setup.
#pragma once

#include <set>
#include <span>

#include "provision/tools.hpp"
#include "provision/unmet_nodes.hpp"

namespace fastgpu::provision {

/// Waits until those of `nodes` that have not been reached yet accept our login, with host keys
/// that only they know. Returns false if all were reached before. Stores new facts; after a kill
/// the same call continues. Throws ErrorKind::capacity if a machine did not start.
bool meet_nodes(const Tools& tools, const ClusterName& name, std::span<const state::Node> nodes);

}  // namespace fastgpu::provision
