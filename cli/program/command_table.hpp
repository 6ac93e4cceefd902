// The table of commands.
#pragma once

#include <span>

#include "cli/program/command.hpp"

namespace fastgpu::cli {

/// Returns all commands, in the order in which --help lists those of a topic.
std::span<const CliCommand> commands();

/// Returns true for `run job`, which alone takes the words of other launchers.
bool is_run_job(const CliCommand& command);

}  // namespace fastgpu::cli
