// The environments on the nodes, for an installation.
#pragma once

#include <vector>

#include "envs/environments/installation_request.hpp"

namespace fastgpu::envs {

WantedEnvironment wanted_by(const InstallationRequest& request);

/// Throws the first failure if no node answered, conflict if they do not agree on the prefix.
std::vector<agent::EnvironmentStatus> those_that_answered(
    const std::vector<HostResult<agent::EnvironmentStatus>>& nodes);

/// Calls the request's on_warning for nodes on which its CUDA or CANN does not work.
void warn_of_drivers(const std::vector<HostResult<agent::EnvironmentStatus>>& nodes,
                     const InstallationRequest& request);

}  // namespace fastgpu::envs
