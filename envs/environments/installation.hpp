// Makes an environment ready on the nodes of a cluster: solved once, built once, copied, verified,
// switched to.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "envs/environments/installation_request.hpp"

namespace fastgpu::envs {

Toolbox make_toolbox(std::span<const PlacedFile> tools, std::span<const PlacedFile> common);
/// Writes the toolbox to a directory here.
void lay_out(const Toolbox& toolbox, const std::filesystem::path& directory);
/// Returns the path in a toolbox, here or on a node, of the files for every environment.
std::filesystem::path common_in(const std::filesystem::path& toolbox);

/// Returns the environments on the nodes. A name in `prepared` makes a place for that environment.
std::vector<HostResult<agent::EnvironmentStatus>> look_at_nodes(const NodeAccess& access,
                                                                std::span<const ssh::Host> hosts,
                                                                const std::string& prefix,
                                                                const std::string& prepared = {});

/// The plan alone, and the nodes that did not answer or cannot use the archive.
struct PlannedInstallation {
  std::vector<HostResult<agent::EnvironmentStatus>> nodes;
  EnvironmentPlan plan;                   ///< The plan of the usable nodes, in their order.
  std::optional<PythonArchive> python{};  ///< The archive that the building node will get.
};
PlannedInstallation plan_installation(const NodeAccess& access, std::span<const ssh::Host> hosts,
                                      const InstallationRequest& request);

/// Carries out the plan. A node that fails is left behind and reported. A failure before the build
/// is thrown, and no node has changed then. Idempotent, and repairs the leftovers of an earlier
/// call that was killed.
InstallationResult install(const NodeAccess& access, std::span<const ssh::Host> hosts,
                           const InstallationRequest& request);

/// Copies the toolbox to a node that has a place for it but no equal one; it is put together in
/// `scratch`.
void put_toolbox(const NodeAccess& access, const ssh::Host& host, const Toolbox& toolbox,
                 const agent::EnvironmentStatus& status, const std::filesystem::path& scratch);

/// Solves a spec on a node that has the toolbox, and the spec's wheels.
EnvironmentLock solve_on_node(const NodeAccess& access, const ssh::Host& host,
                              const InstallationRequest& request, const Toolbox& toolbox,
                              const agent::EnvironmentStatus& status, const IndexWay& way);
/// Solves a spec on this machine.
EnvironmentLock solve_here(const remote::AgentProgram& agent, const InstallationRequest& request,
                           const Toolbox& toolbox, const Cancel& cancel);

}  // namespace fastgpu::envs
