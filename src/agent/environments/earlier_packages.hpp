// Reuses packages of an earlier build of the same environment, so that they need not be fetched
// again.
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
  KnownSums sums;  ///< The sums of their files that are the earlier build's.
};

/// Links files of packages in the request's solution from complete builds beside `version` into it.
/// A build's own solution must have the same artefacts for the package, built by the same tools if
/// they are sources. A package's files must match its RECORD and its build's manifest: if one does
/// not, the package is not taken. Files are read if they may have been written to since the build
/// was checked. Programs that name the directory of their build are rewritten. Commands that are
/// run in a build may write into its files, so nothing is taken from or for such a build. `version`
/// must have its Python already.
TakenPackages take_earlier_packages(const BuildRequest& request,
                                    const std::filesystem::path& version, Listener& listener);

}  // namespace fastgpu::agent
