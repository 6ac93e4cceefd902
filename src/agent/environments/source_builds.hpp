// Builds packages from source, on the building node.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent/environments/uv.hpp"

namespace fastgpu::agent {

/// Builds the request's packages in `sources`, one after the other, and installs them in `version`.
/// No code of theirs runs before all of their archives have the SHA-256 of the lock. Throws remote
/// for an archive with another one. For a package that cannot be built it throws remote with the
/// end of the output, timeout for one that takes too long, or as output_of.
void build_from_source(const Uv& uv, const BuildRequest& request,
                       const std::vector<std::string>& sources,
                       const std::filesystem::path& version, Listener& listener);

}  // namespace fastgpu::agent
