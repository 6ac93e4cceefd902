// The two small scripts that make a shell or a program run in an environment. Pure.
#pragma once

#include <filesystem>
#include <string>

#include "envs/environments/spec.hpp"

namespace fastgpu::envs {

/// Returns a script for a POSIX shell to source; a second time has no effect.
std::string activate_script(const EnvironmentSpec& spec, const std::filesystem::path& version);

/// Returns a program that runs its arguments in the environment.
std::string run_script(const std::filesystem::path& version);

}  // namespace fastgpu::envs
