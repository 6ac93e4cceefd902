// Identifies this host for this user, so that two names of the same host can be noticed.
#pragma once

#include <string>

namespace fastgpu::agent {

/// Returns a text that is equal for two logins only if they reach the same user's agent directory
/// on the same running kernel and in the same network. Nodes in network namespaces or with homes of
/// their own differ, also on one machine; so do machines with a shared home. Empty if the host does
/// not show all of this. The agent directory must exist.
std::string host_identity();

}  // namespace fastgpu::agent
