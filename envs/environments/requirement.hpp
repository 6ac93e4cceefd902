// One requirement in the form of env.yaml and requirements.txt: a package, and the permitted files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "envs/environments/lock.hpp"

namespace fastgpu::envs {

struct Requirement {
  /// The requirement without options: "beta==1.0; python_version > '3.8'".
  std::string text;
  std::string project;                ///< "beta", normalised.
  std::vector<std::string> hashes{};  ///< The SHA-256 of the permitted files; empty: all.
};

/// Throws ErrorKind::usage for an option other than --hash=sha256:..., which pip would obey and a
/// solver here would not.
Requirement parse_requirement(std::string_view line);

/// Keeps of each package the files that its requirement's hashes allow. Throws ErrorKind::remote,
/// naming the requirement and the existing files, if no file is left.
void keep_allowed_files(const EnvironmentSpec& spec, std::vector<Artefact>& artefacts);

}  // namespace fastgpu::envs
