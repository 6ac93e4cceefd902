// The environment variables that begin with FASTGPU_: the known ones, and errors for unknown ones.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/program/command.hpp"

namespace fastgpu::cli {

/// Returns all variables that any part of fastgpu reads or sets, including those of the flags in
/// `table` and of the settings.
std::vector<std::string> known_variables(std::span<const CliCommand> table);

/// Returns a sentence for each unknown variable in `names`. It suggests the nearest name, or the
/// variables of the flag that seems to be meant. `command` is the command that will run.
std::vector<std::string> unknown_variables(std::span<const std::string> names,
                                           std::span<const CliCommand> table,
                                           const CliCommand& command);

}  // namespace fastgpu::cli
