// An environment's packages in parts that are installed one after another.
#pragma once

#include <vector>

#include "envs/environments/lock.hpp"

namespace fastgpu::envs {

/// While one part is fetched, those before it are compiled and copied. So there is a small one to
/// begin with; then the largest packages come first, and what is left to do after the last is
/// little. About eight, fewer where there is less than 16 MB for each. A package, with all its
/// artefacts, is in one part. At least one part.
std::vector<std::vector<Artefact>> parts_of(const std::vector<Artefact>& artefacts);

}  // namespace fastgpu::envs
