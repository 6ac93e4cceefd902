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

/// Puts a way between the nodes on them; called where something is to be copied.
using MakeRoute = std::function<remote::NodeRoute()>;

struct BuildCopy {
  std::filesystem::path directory;  ///< The same on all nodes.
  std::filesystem::path base{};     ///< Another build that all of them have; empty: there is none.
  std::filesystem::path scratch;    ///< A directory of ours, here.
  bool is_early = false;            ///< It is made at the same time.
  std::optional<BitRate> rate{};    ///< Of what leaves the node that has it, or this machine.
};

/// The node `at` of a route.
struct Receiver {
  ssh::Host host;
  std::size_t at = 0;
};

/// What `relay` on the node that has the build is told of the way.
std::vector<std::string> way_of(const NodeAccess& access, const remote::NodeRoute& route,
                                std::span<const Receiver> to, const BuildCopy& what);

/// From node to node, each passing on what it receives while it receives, and keeping it where it
/// is what its manifest says. What a relay that was cut off has brought to all of them is not
/// brought again. Best effort: whoever calls looks at the nodes afterwards.
void relay_build(const NodeAccess& access, const ssh::Host& from, const remote::NodeRoute& route,
                 std::span<const Receiver> to, const BuildCopy& what);

/// What the build has and its base has not, as a stream of files for `give_difference`.
std::string difference_of(const NodeAccess& access, const ssh::Host& from, const BuildCopy& what);

/// From this machine to all of them at once. Each puts the build together out of that and its base,
/// and keeps it where it is what its manifest says.
std::vector<HostResult<agent::Records>> give_difference(const NodeAccess& access,
                                                        std::span<const ssh::Host> to,
                                                        const BuildCopy& what,
                                                        const std::string& difference);

/// By way of this machine. Every file is checked by its SHA-256 on the way; a build appears at once
/// or not at all.
std::vector<HostResult<remote::Copied>> copy_build(const NodeAccess& access, const ssh::Host& from,
                                                   std::span<const ssh::Host> to,
                                                   const BuildCopy& what);

}  // namespace fastgpu::envs
