// Makes an environment ready on the nodes of a cluster: solved once, built once, copied, verified,
// switched to.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "envs/environments/archive.hpp"
#include "envs/environments/build_copy.hpp"
#include "envs/environments/index_way.hpp"
#include "envs/environments/lock.hpp"
#include "envs/environments/nodes.hpp"
#include "envs/environments/plan.hpp"
#include "envs/environments/python_archive.hpp"

namespace fastgpu::envs {

/// A file or a directory here, and its destination.
struct PlacedFile {
  std::filesystem::path source;
  std::filesystem::path place;  ///< Relative: to the toolbox, or to each environment.
};

/// The tools for building on a node: a builder's programs, and the files for every environment. Its
/// directory there is named by its hash.
struct Toolbox {
  std::vector<PlacedFile> files{};  ///< Files only, no directories.
  std::string hash{};
  /// The environment's Python, whose content is among the files.
  std::optional<PythonArchive> python{};
};

Toolbox make_toolbox(std::span<const PlacedFile> tools, std::span<const PlacedFile> common);
/// Writes the toolbox to a directory here.
void lay_out(const Toolbox& toolbox, const std::filesystem::path& directory);
/// Returns the path in a toolbox, here or on a node, of the files for every environment.
std::filesystem::path common_in(const std::filesystem::path& toolbox);

struct InstallationRequest {
  EnvironmentSpec spec;
  std::optional<EnvironmentLock> lock{};  ///< Absent: solved on the building node.
  /// An archive with a build of that lock: the nodes build nothing.
  std::optional<EnvironmentArchive> archive{};
  /// Solves even if a build's solution could be reused.
  bool solves_anew = false;
  std::string prefix{};                    ///< Empty: the default one.
  std::string fastgpu{};                   ///< Our version, for the lock.
  std::filesystem::path scratch{};         ///< A directory of ours.
  std::chrono::seconds index_timeout{30};  ///< Aborts if an index sends no data for this long.
  /// The logins for indexes, channels and the hosts of their files.
  IndexLogins logins{};
  Fetch fetch = Fetch::automatic;
  /// The hosts that this machine may connect to for a node.
  std::vector<std::string> fetch_hosts{};
  http::CurlSettings network{};        ///< This machine's settings for reaching indexes.
  std::vector<KnownPython> pythons{};  ///< The Pythons for nodes without a suitable one.
  /// Returns the toolbox for a processor, with that Python in it; called if something must be
  /// built.
  std::function<Toolbox(const std::string& machine, const std::optional<PythonArchive>& python)>
      toolbox;
  /// Returns the bytes of an artefact, which have its SHA-256; called for artefacts that are built
  /// from source.
  std::function<std::string(const Artefact& source)> fetch_source{};
  /// Null: builds are copied through this machine.
  MakeRoute route{};
  std::optional<BitRate> rate{};  ///< The limit of a build's traffic to other nodes.
  OnDoing on_doing{};
  OnDoing on_warning{};  ///< Called for a node on which the result may not work.
  std::function<void(const std::string& sentence)> on_note{};  ///< Called with useful remarks.
};

struct Installed {
  NodeSteps steps;  ///< The completed steps.
  /// The build was checked on the way, and came from another node or as a difference to its own.
  bool relayed = false;
};

struct InstallationResult {
  std::string prefix;
  std::string version;
  std::vector<HostResult<Installed>> nodes;  ///< The nodes, in their order.
};

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
