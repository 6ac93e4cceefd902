// Builds packages from source, on the building node.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent/environments/uv.hpp"

namespace fastgpu::agent {

/// Builds the packages in `sources` one after the other and installs them in `version`. Before any
/// of their code runs, all of their archives must have the SHA-256 of the lock; otherwise throws
/// remote. For a package that cannot be built, throws remote with the end of the output, timeout if
/// it takes too long, and the errors of output_of().
void build_from_source(const Uv& uv, const BuildRequest& request,
                       const std::vector<std::string>& sources,
                       const std::filesystem::path& version, Listener& listener);

}  // namespace fastgpu::agent
