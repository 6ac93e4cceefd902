// The files that the hashes of requirements allow.
#pragma once

#include <vector>

#include "envs/environments/lock.hpp"

namespace fastgpu::envs {

/// Keeps of each package the files that its requirement's hashes allow. Throws ErrorKind::remote,
/// naming the requirement and the existing files, if no file is left.
void keep_allowed_files(const EnvironmentSpec& spec, std::vector<Artefact>& artefacts);

}  // namespace fastgpu::envs
