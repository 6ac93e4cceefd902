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

/// Adds the common flags behind those that the command has described.
void describe_common(Arguments& arguments, CommonFlags& common);

/// Returns the arguments of `command`, the common ones included. For help, completion and checks.
Arguments arguments_of(const Command& command);

/// Returns the flags that may be in front of the verb, spelling by spelling. These are all except
/// those that take a value in one command and none in another.
Arguments leading_flags(std::span<const Command> table);

}  // namespace fastgpu::cli
