// The command of a job as the user gave it, and the environment that runs it.
#pragma once

#include <span>
#include <string>

namespace fastgpu::launcher {

/// Returns the words of a job's program without the program that runs them in an environment, and
/// without the line of a shell that starts torchrun: `torchrun train.py`. Refers to `argv`.
std::span<const std::string> users_command(std::span<const std::string> argv);

/// Returns the name of the environment that such words run in; empty if they name none.
std::string environment_in(std::span<const std::string> argv);

}  // namespace fastgpu::launcher
