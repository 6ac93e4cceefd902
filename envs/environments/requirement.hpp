// One requirement as env.yaml and requirements.txt write it: what is asked for, and which files may
// answer it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "envs/environments/lock.hpp"

namespace fastgpu::envs {

struct Requirement {
  std::string text;                   ///< "beta==1.0; python_version > '3.8'", without options.
  std::string project;                ///< "beta", normalised.
  std::vector<std::string> hashes{};  ///< SHA-256 of the files that may be installed; none: any.
};

/// Throws ErrorKind::usage for an option other than --hash=sha256:..., which pip would obey and a
/// solver here would not.
Requirement parse_requirement(std::string_view line);

/// Leaves of each package the files that its requirement's hashes allow. Throws ErrorKind::remote,
/// naming the requirement and what there is, where that is none.
void keep_allowed_files(const EnvironmentSpec& spec, std::vector<Artefact>& artefacts);

}  // namespace fastgpu::envs
