// The search for a command by the user's words.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/program/command.hpp"

namespace fastgpu::cli {

/// A command and the words that are left for it.
struct Resolved {
  const CliCommand* command =
      nullptr;  ///< Null if help was requested for a verb, or for everything.
  std::string verb;
  std::vector<std::string> rest;
  bool help = false;
};

/// Returns `words` with the flags in front of the verb moved behind it: "-o json get nodes" is
/// "get nodes -o json".
std::vector<std::string> verb_first(std::span<const CliCommand> table,
                                    std::vector<std::string> words);

/// Finds the command that `words` name: plural nouns, the other names that people try ("ls",
/// "kill") and flags before the verb are understood. Throws ErrorKind::usage with the nearest name.
Resolved resolve(std::span<const CliCommand> table, std::vector<std::string> words);

}  // namespace fastgpu::cli
