// Archives of packages that are built from source: fetched here, checked, brought to the building
// node.
#pragma once

#include <functional>
#include <string>

#include "envs/environments/installation_request.hpp"

namespace fastgpu::envs {

/// Returns the name of their directory: it is stored on a node like a toolbox.
std::string sources_hash(const EnvironmentLock& lock);

/// Brings the lock's sources to a node that lacks them. Throws as the request's fetch_source,
/// naming the package: one with another SHA-256 is not brought there.
void put_sources(const NodeAccess& access, const ssh::Host& host,
                 const InstallationRequest& request, const EnvironmentLock& lock,
                 const agent::EnvironmentStatus& status);

}  // namespace fastgpu::envs
