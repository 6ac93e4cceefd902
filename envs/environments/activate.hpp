// The two small scripts that make a shell or a program run in an environment. Pure.
#pragma once

#include <filesystem>
#include <string>

#include "envs/environments/spec.hpp"

namespace fastgpu::envs {

/// To be sourced by a POSIX shell; sourcing it twice is sourcing it once.
std::string activate_script(const EnvironmentSpec& spec, const std::filesystem::path& version);

/// A program that runs its arguments in the environment.
std::string run_script(const std::filesystem::path& version);

}  // namespace fastgpu::envs
