// A builder's own format of a solution, to and from the artefacts of a lock.
#pragma once

#include <string>
#include <vector>

#include "envs/environments/lock.hpp"

namespace fastgpu::envs {

/// Returns the requirements for the builder: the spec's packages, with Python or Open MPI if one of
/// them is a package.
std::vector<std::string> requirements_of(const EnvironmentSpec& spec);

/// Parses a solution. Throws ErrorKind::remote for malformed text.
std::vector<Artefact> read_solution(const EnvironmentSpec& spec, const std::string& text);
std::string write_solution(const EnvironmentLock& lock);

/// Returns the lock's wheels beside conda packages as pylock.toml; empty if there are none.
std::string write_wheels(const EnvironmentLock& lock);

}  // namespace fastgpu::envs
