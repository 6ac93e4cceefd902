// What lies on the nodes, as an installation sees it.
#pragma once

#include <vector>

#include "envs/environments/installation.hpp"

namespace fastgpu::envs {

WantedEnvironment wanted_by(const InstallationRequest& request);

/// Throws the failure of the first where none did, conflict where they do not agree on the prefix.
std::vector<agent::EnvironmentStatus> those_that_answered(
    const std::vector<HostResult<agent::EnvironmentStatus>>& nodes);

/// Tells the request's on_warning of nodes on which its CUDA or CANN does not work.
void warn_of_drivers(const std::vector<HostResult<agent::EnvironmentStatus>>& nodes,
                     const InstallationRequest& request);

}  // namespace fastgpu::envs
