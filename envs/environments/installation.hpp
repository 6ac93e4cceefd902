// An environment made ready on the nodes of a cluster: solved once, built once, copied, verified,
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

/// A file or a directory here, and where it goes.
struct PlacedFile {
  std::filesystem::path source;
  std::filesystem::path place;  ///< Relative: to the toolbox, or to each environment.
};

/// What a node needs for building: a builder's programs, and what every environment gets. The
/// directory that it is there has its hash for a name.
struct Toolbox {
  std::vector<PlacedFile> files{};  ///< No directories.
  std::string hash{};
  std::optional<PythonArchive> python{};  ///< The environment's, whose content is among the files.
};

Toolbox make_toolbox(std::span<const PlacedFile> tools, std::span<const PlacedFile> common);
/// As a directory here.
void lay_out(const Toolbox& toolbox, const std::filesystem::path& directory);
/// Where what every environment gets lies in a toolbox, here or on a node.
std::filesystem::path common_in(const std::filesystem::path& toolbox);

struct InstallationRequest {
  EnvironmentSpec spec;
  std::optional<EnvironmentLock> lock{};        ///< Absent: solved on the node that builds.
  std::optional<EnvironmentArchive> archive{};  ///< With a build of that lock: none is made.
  /// Also where a build is there of which the solution could be taken.
  bool solves_anew = false;
  std::string prefix{};               ///< Empty: the usual one.
  std::string fastgpu{};              ///< Our version, for the lock.
  std::filesystem::path scratch{};    ///< A directory of ours.
  std::chrono::seconds patience{30};  ///< So long an index may say nothing.
  IndexLogins logins{};               ///< Of indexes, channels and the hosts of their files.
  Fetch fetch = Fetch::automatic;
  std::vector<std::string> fetch_hosts{};  ///< That this machine may connect to for a node.
  http::CurlSettings network{};            ///< How this machine gets to indexes.
  std::vector<KnownPython> pythons{};      ///< For nodes that have none that fits.
  /// Makes the toolbox for a processor, with that Python in it; called where something is to be
  /// built.
  std::function<Toolbox(const std::string& machine, const std::optional<PythonArchive>& python)>
      toolbox;
  /// The bytes of an artefact, which have its SHA-256; called for what is built from source.
  std::function<std::string(const Artefact& source)> fetch_source{};
  /// Absent: builds are copied by way of this machine.
  MakeRoute route{};
  std::optional<BitRate> rate{};  ///< Of a build on its way to other nodes.
  OnDoing on_doing{};
  OnDoing on_warning{};  ///< Told of a node that may not do with what is made.
  std::function<void(const std::string& sentence)> on_note{};  ///< Of what is good to know.
};

struct Installed {
  NodeSteps steps;  ///< What was done.
  /// What it received was checked on its way, and came from another node or beside what it had.
  bool relayed = false;
};

struct InstallationResult {
  std::string prefix;
  std::string version;
  std::vector<HostResult<Installed>> nodes;  ///< In their order.
};

/// What lies on the nodes. With a name a place for that environment is made.
std::vector<HostResult<agent::EnvironmentStatus>> look_at_nodes(const NodeAccess& access,
                                                                std::span<const ssh::Host> hosts,
                                                                const std::string& prefix,
                                                                const std::string& prepared = {});

/// The plan alone, and who did not answer or cannot have what an archive has.
struct PlannedInstallation {
  std::vector<HostResult<agent::EnvironmentStatus>> nodes;
  EnvironmentPlan plan;                   ///< Of those that can have it, in their order.
  std::optional<PythonArchive> python{};  ///< That the one which builds will get.
};
PlannedInstallation plan_installation(const NodeAccess& access, std::span<const ssh::Host> hosts,
                                      const InstallationRequest& request);

/// Does what the plan says. A node that fails is left behind and reported; a failure before
/// anything is built is thrown, and no node has changed then. Idempotent, and repairs what an
/// earlier call that was killed left behind.
InstallationResult install(const NodeAccess& access, std::span<const ssh::Host> hosts,
                           const InstallationRequest& request);

/// Copies the toolbox to a node that has a place for it but none like it; it is put together in
/// `scratch`.
void put_toolbox(const NodeAccess& access, const ssh::Host& host, const Toolbox& toolbox,
                 const agent::EnvironmentStatus& status, const std::filesystem::path& scratch);

/// Solves a spec on a node that has the toolbox.
EnvironmentLock solve_on_node(const NodeAccess& access, const ssh::Host& host,
                              const InstallationRequest& request, const Toolbox& toolbox,
                              const agent::EnvironmentStatus& status, const IndexWay& way);
/// On this machine.
EnvironmentLock solve_here(const remote::AgentProgram& agent, const InstallationRequest& request,
                           const Toolbox& toolbox, const Cancel& cancel);

}  // namespace fastgpu::envs
