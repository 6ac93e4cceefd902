// One build of an environment, from the node that has it to others.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "envs/environments/nodes.hpp"
#include "remote/copy.hpp"
#include "remote/relay.hpp"

namespace fastgpu::envs {

/// Puts a way between the nodes on them; called where something is to be copied.
using MakeRoute = std::function<remote::NodeRoute()>;

struct BuildCopy {
  std::filesystem::path directory;  ///< The same on all nodes.
  std::filesystem::path scratch;    ///< A directory of ours, here.
};

/// From node to node, each passing on what it receives while it receives, and keeping it where it
/// is what its manifest says. Best effort: whoever calls looks at the nodes afterwards. `to` are
/// indices of `names`.
void relay_build(const NodeAccess& access, const ssh::Host& from, const remote::NodeRoute& route,
                 std::span<const std::size_t> to, const BuildCopy& what);

/// By way of this machine. Every file is checked by its SHA-256 on the way; a build appears at once
/// or not at all.
std::vector<HostResult<remote::Copied>> copy_build(const NodeAccess& access, const ssh::Host& from,
                                                   std::span<const ssh::Host> to,
                                                   const BuildCopy& what);

}  // namespace fastgpu::envs
