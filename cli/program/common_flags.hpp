// The flags that every command takes, and their values for a command.
#pragma once

#include <span>
#include <string>

#include "cli/program/arguments.hpp"
#include "cli/program/command.hpp"

namespace fastgpu::cli {

struct CommonFlags {
  std::string output;
  std::string color;
  std::string state_directory;
  std::string sort_by;
  bool no_headers = false;
  bool quiet = false;
  bool verbose = false;
};

/// Adds the common flags after those that the command has described.
void describe_common(Arguments& arguments, CommonFlags& common);

/// Returns all arguments of `command`, including the common ones, for help, completion and checks.
Arguments arguments_of(const CliCommand& command);

/// Returns the flags that may be typed before the verb. These are all flags of all commands, except
/// those that take a value in one command and none in another.
Arguments leading_flags(std::span<const CliCommand> table);

}  // namespace fastgpu::cli
