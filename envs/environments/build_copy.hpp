// One build of an environment, from the node that has it to others.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "envs/environments/nodes.hpp"
#include "remote/copy.hpp"
#include "remote/relay.hpp"

namespace fastgpu::envs {

/// Makes a route between the nodes; called if a build must be copied.
using MakeRoute = std::function<remote::NodeRoute()>;

struct BuildCopy {
  std::filesystem::path directory;  ///< The path on all nodes.
  /// Another build that all of them have; may be empty.
  std::filesystem::path base{};
  std::filesystem::path scratch;  ///< A directory of ours, here.
  bool is_early = false;          ///< Copied while it is being built.
  /// The limit of the traffic from the node that has it, or from this machine.
  std::optional<BitRate> rate{};
};

/// The node `at` of a route.
struct Receiver {
  ssh::Host host;
  std::size_t at = 0;
};

/// Returns the arguments of `relay` for the node that has the build.
std::vector<std::string> way_of(const NodeAccess& access, const remote::NodeRoute& route,
                                std::span<const Receiver> to, const BuildCopy& what);

/// Copies from node to node. Each passes the build on while it receives it, and keeps it if it
/// matches its manifest. A repeated relay does not send what all of them already have. Best effort:
/// the caller checks the nodes afterwards.
void relay_build(const NodeAccess& access, const ssh::Host& from, const remote::NodeRoute& route,
                 std::span<const Receiver> to, const BuildCopy& what);

/// Returns the part of the build that its base lacks, as a stream of files for `give_difference`.
std::string difference_of(const NodeAccess& access, const ssh::Host& from, const BuildCopy& what);

/// Copies from this machine to all of them at once. Each combines the difference with its base, and
/// keeps the build if it matches its manifest.
std::vector<HostResult<agent::Records>> give_difference(const NodeAccess& access,
                                                        std::span<const ssh::Host> to,
                                                        const BuildCopy& what,
                                                        const std::string& difference);

/// Copies through this machine. Every file is checked by its SHA-256; a build appears whole or not
/// at all.
std::vector<HostResult<remote::Copied>> copy_build(const NodeAccess& access, const ssh::Host& from,
                                                   std::span<const ssh::Host> to,
                                                   const BuildCopy& what);

}  // namespace fastgpu::envs
