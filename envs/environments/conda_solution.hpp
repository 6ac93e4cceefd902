// The output of conda_client.py after solving, and its input for installing.
#pragma once

#include <string>
#include <vector>

#include "envs/environments/lock.hpp"

namespace fastgpu::envs {

/// Parses a solution. Throws ErrorKind::remote for malformed text.
std::vector<Artefact> read_conda_solution(const std::string& text);
std::string write_conda_solution(const std::vector<Artefact>& artefacts);

}  // namespace fastgpu::envs
