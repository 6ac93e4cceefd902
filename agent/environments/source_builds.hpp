// Packages that are built from source, where the environment is built.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent/environments/uv.hpp"

namespace fastgpu::agent {

/// Builds the packages in `sources`, of those of the request, one after the other, and installs
/// them in `version`. None of their code is run before all of their archives have the sums that the
/// lock says. Throws remote for an archive that has another one, and for a package that cannot be
/// built, with the last of what it said; timeout for one that takes too long; as output_of.
void build_from_source(const Uv& uv, const BuildRequest& request,
                       const std::vector<std::string>& sources,
                       const std::filesystem::path& version, Listener& listener);

}  // namespace fastgpu::agent
