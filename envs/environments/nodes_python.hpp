// What the node that builds has of Python, asked where that decides, and what is taken then.
#pragma once

#include <optional>
#include <string>

#include "envs/environments/installation.hpp"

namespace fastgpu::envs {

/// As choose_python; tells the request's on_note of a known archive. Throws as that and call_node.
std::optional<PythonArchive> python_on(const NodeAccess& access, const ssh::Host& host,
                                       const InstallationRequest& request,
                                       const std::string& machine);
/// On this machine.
std::optional<PythonArchive> python_here(const remote::AgentProgram& agent,
                                         const InstallationRequest& request,
                                         const std::string& machine, const Cancel& cancel);

}  // namespace fastgpu::envs
