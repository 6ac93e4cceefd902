// Help texts, generated from the table of commands and their arguments.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/program/arguments.hpp"
#include "cli/program/command.hpp"

namespace fastgpu::cli {

/// Pairs of words to type and their meaning.
using HelpRows = std::vector<std::pair<std::string, std::string>>;

/// Rows under one heading, such as "Storage flags".
struct HelpGroup {
  std::string title;
  HelpRows rows;
};

/// Returns the commands, grouped by topic, in the order of the topics.
std::vector<HelpGroup> command_groups(std::span<const CliCommand> table);
HelpRows argument_rows(const Arguments& arguments);  ///< Returns the arguments without a flag.
/// Returns the flags by their groups. The flags without a group come first.
std::vector<HelpGroup> flag_groups(const Arguments& arguments);
/// Returns a sentence on the environment variables for flags, with examples.
std::string variables_sentence(const CliCommand& command, const Arguments& arguments);
std::string usage_line(const CliCommand& command, const Arguments& arguments);

/// Returns the text of --help. `width` is the width of the terminal in columns; 0 means that no row
/// is broken.
std::string help_for_all(std::span<const CliCommand> table, int width);
std::string help_for_verb(std::span<const CliCommand> table, std::string_view verb, int width);
std::string help_for_command(const CliCommand& command, const Arguments& arguments, int width);

}  // namespace fastgpu::cli
