// Makes an environment ready on the nodes of a cluster: solved once, built once, copied, verified,
// switched to.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "envs/environments/installation_request.hpp"

namespace fastgpu::envs {

/// Carries out the plan. A node that fails is left behind and reported. A failure before the build
/// is thrown, and no node has changed then. Idempotent, and repairs the leftovers of an earlier
/// call that was killed.
InstallationResult install(const NodeAccess& access, std::span<const ssh::Host> hosts,
                           const InstallationRequest& request);

}  // namespace fastgpu::envs
