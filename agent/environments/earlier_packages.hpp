// Packages that an earlier build of the same environment has need not be fetched again.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "agent/environments/call.hpp"
#include "agent/protocol/environment.hpp"

namespace fastgpu::agent {

/// Links what complete builds beside `version` have of the packages in the request's solution into
/// it, where their own solutions have the same artefacts for them; returns the names of those
/// packages. A package's files are read first, and must be what its RECORD and its build's manifest
/// say: of one with a file that is not, nothing is taken. Programs that name the directory of their
/// build are written anew. Commands that are run in a build may write into its files, so nothing is
/// taken from such a build, nor for one. `version` must have its Python already.
std::set<std::string> take_earlier_packages(const BuildRequest& request,
                                            const std::filesystem::path& version,
                                            Listener& listener);

}  // namespace fastgpu::agent
