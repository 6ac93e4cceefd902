// Help texts, made from the table of commands and their arguments.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/command.hpp"

namespace fastgpu::cli {

/// What the user writes, and what it means.
using HelpRows = std::vector<std::pair<std::string, std::string>>;

HelpRows command_rows(std::span<const Command> table);
HelpRows argument_rows(const Arguments& arguments);  ///< What stands without a flag.
HelpRows flag_rows(const Arguments& arguments);
/// Returns a sentence on the variables of flags, with examples.
std::string variables_sentence(const Command& command, const Arguments& arguments);
std::string usage_line(const Command& command, const Arguments& arguments);

/// The texts of --help. `width` is that of the terminal, in columns; 0 breaks no row.
std::string help_for_all(std::span<const Command> table, int width);
std::string help_for_verb(std::span<const Command> table, std::string_view verb, int width);
std::string help_for_command(const Command& command, const Arguments& arguments, int width);

}  // namespace fastgpu::cli
