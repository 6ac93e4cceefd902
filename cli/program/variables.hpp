// The environment variables that begin with FASTGPU_: the known ones, and the faults of others.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/program/command.hpp"

namespace fastgpu::cli {

/// Returns every variable that a part of fastgpu reads or sets, those of the flags in `table` and
/// of the settings included.
std::vector<std::string> known_variables(std::span<const Command> table);

/// Returns a sentence for each of `names` that has no meaning. It has the nearest name, or with the
/// variables of the flag for which it seems to be meant. `command` is the one that will be run.
std::vector<std::string> unknown_variables(std::span<const std::string> names,
                                           std::span<const Command> table, const Command& command);

}  // namespace fastgpu::cli
