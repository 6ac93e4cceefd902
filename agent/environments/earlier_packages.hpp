// Packages that an earlier build of the same environment has need not be fetched again.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "agent/environments/call.hpp"
#include "agent/environments/manifest.hpp"
#include "agent/protocol/environment.hpp"

namespace fastgpu::agent {

struct TakenPackages {
  std::set<std::string> names;
  KnownSums sums;  ///< Of their files, as far as those are the earlier build's.
};

/// Links what complete builds beside `version` have of the packages in the request's solution into
/// it, where their own solutions have the same artefacts for them, built by the same tools where
/// they are sources. A package's files must be what its RECORD and its build's manifest say: of one
/// with a file that is not, nothing is taken. They are read where somebody may have written into
/// them since the build was checked. Programs that name the directory of their build are written
/// anew. Commands that are run in a build may write into its files, so nothing is taken from such a
/// build, nor for one. `version` must have its Python already.
TakenPackages take_earlier_packages(const BuildRequest& request,
                                    const std::filesystem::path& version, Listener& listener);

}  // namespace fastgpu::agent
