// What conda_client.py says when it has solved, and reads when it installs.
#pragma once

#include <string>
#include <vector>

#include "envs/environments/lock.hpp"

namespace fastgpu::envs {

/// Throws ErrorKind::remote for what is none.
std::vector<Artefact> read_conda_solution(const std::string& text);
std::string write_conda_solution(const std::vector<Artefact>& artefacts);

}  // namespace fastgpu::envs
