// Unpacks an archive's build on the first node; the others get it from there.
#pragma once

#include "envs/environments/install_targets.hpp"

namespace fastgpu::envs {

/// Unpacks from this machine on the node of the plan. The build appears there whole, matching its
/// manifest, or not at all. Throws conflict if it does not fit the node, capacity without room, and
/// as call_node.
void unpack_on_source(const InstallTargets& nodes);

}  // namespace fastgpu::envs
