// What the node that builds has of Python, asked where that decides, and what is taken then.
#pragma once

#include <optional>
#include <string>

#include "envs/environments/installation.hpp"

namespace fastgpu::envs {

/// As choose_python, with a lock what that has of the environment's; tells the request's on_note of
/// a known archive. Throws as that and call_node.
std::optional<PythonArchive> python_on(const NodeAccess& access, const ssh::Host& host,
                                       const InstallationRequest& request,
                                       const std::optional<EnvironmentLock>& lock,
                                       const std::string& machine);
/// On this machine, for a lock that is to be made.
std::optional<PythonArchive> python_here(const remote::AgentProgram& agent,
                                         const InstallationRequest& request,
                                         const std::string& machine, const Cancel& cancel);

}  // namespace fastgpu::envs
