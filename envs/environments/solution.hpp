// A builder's own words for what there is to install, to and from the artefacts of a lock.
#pragma once

#include <string>
#include <vector>

#include "envs/environments/lock.hpp"

namespace fastgpu::envs {

/// What the builder is asked for: the spec's packages, with Python or Open MPI where that is one of
/// them.
std::vector<std::string> requirements_of(const EnvironmentSpec& spec);

/// Throws ErrorKind::remote for what is none.
std::vector<Artefact> read_solution(const EnvironmentSpec& spec, const std::string& text);
std::string write_solution(const EnvironmentLock& lock);

}  // namespace fastgpu::envs
