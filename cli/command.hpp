// One row of the table of commands, and the search for it by words.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"

namespace fastgpu::cli {

class Context;

/// The action of a command after the parse of its words; returns the exit code of the process.
using Action = std::function<int(Context&)>;

/// The effect of a command on the world. Each row of the table must have one.
enum class Effect : std::uint8_t {
  reads,    ///< Changes nothing.
  runs,     ///< Starts a program or a session of the user's on nodes; its effects are the user's.
  writes,   ///< Writes a local file that the user names, and nothing else.
  changes,  ///< Changes clusters, nodes, clouds or the state directory: it has --dry-run.
};

/// The topic of a command, under which `fastgpu --help` lists it.
enum class Topic : std::uint8_t { clusters, nodes, jobs, environments, clouds, program };

struct Command {
  std::string_view verb;
  std::string_view noun;  ///< Singular; empty for a verb alone.
  Topic topic;
  Effect effect;
  std::string_view summary;
  std::string_view example;
  /// Describes the command's arguments and returns the action for after the parse.
  Action (*describe)(Arguments& arguments);
  std::string_view notes{};  ///< Details beyond the summary.
  /// True for a command that runs with any variables and settings: their faults are warnings there.
  bool runs_anyway = false;

  std::string words() const;  ///< "create cluster", "get clusters"
};

/// A command and the words that are left for it.
struct Resolved {
  const Command* command = nullptr;  ///< Null if help was requested for a verb, or for everything.
  std::string verb;
  std::vector<std::string> rest;
  bool help = false;
};

/// Returns `words` with the flags in front of the verb moved behind it: "-o json get nodes" is
/// "get nodes -o json".
std::vector<std::string> verb_first(std::span<const Command> table, std::vector<std::string> words);

/// Finds the command that `words` name: plural nouns, the other names that people try ("ls",
/// "kill") and flags before the verb are understood. Throws ErrorKind::usage with the nearest name.
Resolved resolve(std::span<const Command> table, std::vector<std::string> words);

}  // namespace fastgpu::cli
