// Help texts, made from the table of commands and their arguments.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/arguments.hpp"
#include "cli/command.hpp"

namespace fastgpu::cli {

std::string help_for_all(std::span<const Command> table);
std::string help_for_verb(std::span<const Command> table, std::string_view verb);
std::string help_for_command(const Command& command, const Arguments& arguments);

}  // namespace fastgpu::cli
