// An environment's packages in parts that are installed one after another.
#pragma once

#include <vector>

#include "envs/environments/lock.hpp"

namespace fastgpu::envs {

/// Returns the parts, at least one. While one part is fetched, those before it are compiled and
/// copied. So the first is small; then the largest packages come first, and little work is left
/// after the last. About eight parts, fewer if there are less than 16 MB for each. A package, with
/// all its artefacts, is in one part.
std::vector<std::vector<Artefact>> parts_of(const std::vector<Artefact>& artefacts);

}  // namespace fastgpu::envs
