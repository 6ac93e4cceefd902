// The request for an installation, and its result.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "envs/environments/archive.hpp"
#include "envs/environments/build_copy.hpp"
#include "envs/environments/environment_plan.hpp"
#include "envs/environments/index_way.hpp"
#include "envs/environments/lock.hpp"
#include "envs/environments/nodes.hpp"
#include "envs/environments/python_archive.hpp"
#include "envs/environments/toolbox.hpp"

namespace fastgpu::envs {

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

}  // namespace fastgpu::envs
