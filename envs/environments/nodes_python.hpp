// The Python for the building node, which is asked for its own if that decides.
#pragma once

#include <optional>
#include <string>

#include "envs/environments/installation_request.hpp"

namespace fastgpu::envs {

/// Returns the result of choose_python; with a lock, that of the environment comes from it. Calls
/// the request's on_note for a known archive. Throws as that and call_node.
std::optional<PythonArchive> python_on(const NodeAccess& access, const ssh::Host& host,
                                       const InstallationRequest& request,
                                       const std::optional<EnvironmentLock>& lock,
                                       const std::string& machine);
/// Chooses on this machine, for a lock that must be made.
std::optional<PythonArchive> python_here(const remote::AgentProgram& agent,
                                         const InstallationRequest& request,
                                         const std::string& machine, const Cancel& cancel);

}  // namespace fastgpu::envs
