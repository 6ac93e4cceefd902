// One build of an environment, from the node that has it to others.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "envs/environments/nodes.hpp"
#include "remote/copy.hpp"

namespace fastgpu::envs {

struct BuildCopy {
  std::filesystem::path directory;  ///< The same on all nodes.
  std::filesystem::path scratch;    ///< A directory of ours, here.
};

/// Every file is checked by its SHA-256 on the way; a build appears at once or not at all.
std::vector<HostResult<remote::Copied>> copy_build(const NodeAccess& access, const ssh::Host& from,
                                                   std::span<const ssh::Host> to,
                                                   const BuildCopy& what);

}  // namespace fastgpu::envs
