// Archives of packages that are built from source: fetched here, checked, brought to the node that
// builds.
#pragma once

#include <functional>
#include <string>

#include "envs/environments/installation.hpp"

namespace fastgpu::envs {

/// Names them: they lie on a node as a toolbox does.
std::string sources_hash(const EnvironmentLock& lock);

/// Brings those of the lock to a node, where it lacks them. Throws as the request's fetch_source,
/// naming the package: one with another SHA-256 is not brought there.
void put_sources(const NodeAccess& access, const ssh::Host& host,
                 const InstallationRequest& request, const EnvironmentLock& lock,
                 const agent::EnvironmentStatus& status);

}  // namespace fastgpu::envs
