// Solves the spec of an environment: chooses every package and its version.
#pragma once

#include "base/cancel.hpp"
#include "envs/environments/installation_request.hpp"

namespace fastgpu::envs {

/// Solves a spec on a node that has the toolbox, and the spec's wheels.
EnvironmentLock solve_on_node(const NodeAccess& access, const ssh::Host& host,
                              const InstallationRequest& request, const Toolbox& toolbox,
                              const agent::EnvironmentStatus& status, const IndexWay& way);
/// Solves a spec on this machine.
EnvironmentLock solve_here(const remote::AgentProgram& agent, const InstallationRequest& request,
                           const Toolbox& toolbox, const Cancel& cancel);

}  // namespace fastgpu::envs
