// The environments on the nodes, for an installation.
#pragma once

#include <vector>

#include "envs/environments/installation_request.hpp"

namespace fastgpu::envs {

/// Returns the environments on the nodes. A name in `prepared` makes a place for that environment.
std::vector<HostResult<agent::EnvironmentStatus>> look_at_nodes(const NodeAccess& access,
                                                                std::span<const ssh::Host> hosts,
                                                                const std::string& prefix,
                                                                const std::string& prepared = {});

/// Removes that version of an environment, and what is left of copies of it, on the nodes where it
/// is not in use. Best effort: reports no failure. Runs for half a minute at most.
void remove_unused_build(const NodeAccess& access, std::span<const ssh::Host> hosts,
                         const std::string& prefix, const std::string& name,
                         const std::string& version);

/// Removes the places that look_at_nodes() has made for an environment, on the nodes where they are
/// still empty. Best effort: reports no failure. Runs for some seconds at most, even after a
/// cancel.
void remove_empty_places(const NodeAccess& access, std::span<const ssh::Host> hosts,
                         const std::string& prefix, const std::string& name);

/// The plan alone, and the nodes that did not answer or cannot use the archive.
struct PlannedInstallation {
  std::vector<HostResult<agent::EnvironmentStatus>> nodes;
  EnvironmentPlan plan;                   ///< The plan of the usable nodes, in their order.
  std::optional<PythonArchive> python{};  ///< The archive that the building node will get.
};
PlannedInstallation plan_installation(const NodeAccess& access, std::span<const ssh::Host> hosts,
                                      const InstallationRequest& request);

WantedEnvironment wanted_by(const InstallationRequest& request);

/// Throws the first failure if no node answered, conflict if they do not agree on the prefix.
std::vector<agent::EnvironmentStatus> those_that_answered(
    const std::vector<HostResult<agent::EnvironmentStatus>>& nodes);

/// Calls the request's on_warning for nodes on which its CUDA or CANN does not work.
void warn_of_drivers(const std::vector<HostResult<agent::EnvironmentStatus>>& nodes,
                     const InstallationRequest& request);

}  // namespace fastgpu::envs
