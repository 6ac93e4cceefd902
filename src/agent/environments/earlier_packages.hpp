// Takes packages from an earlier build of the same environment, so that they need not be downloaded
// again.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "agent/environments/environment_call.hpp"
#include "agent/environments/manifest.hpp"
#include "agent/protocol/environment.hpp"

namespace fastgpu::agent {

struct TakenPackages {
  std::set<std::string> names;
  KnownSums sums;  ///< The checksums of their files that are the same as in the earlier build.
};

/// Links the files of packages in the request's solution from complete builds beside `version` into
/// it. A package is taken only if that build's own solution has the same artefacts for it, and the
/// same build tools if it is built from source. Its files must match its RECORD and its build's
/// manifest. They are read if they may have been changed since the build was checked. Programs that
/// contain the directory of their build are rewritten. No package is taken from or for a build with
/// commands (post_install), because these may write to its files. `version` must have its Python
/// already.
TakenPackages take_earlier_packages(const BuildRequest& request,
                                    const std::filesystem::path& version, Listener& listener);

}  // namespace fastgpu::agent
