// One row of the table of commands.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "cli/program/arguments.hpp"

namespace fastgpu::cli {

class Context;

/// Runs a command whose words are parsed. Returns the exit code of the process.
using Action = std::function<int(Context&)>;

/// The effect of a command on the world. Each row of the table has one.
enum class Effect : std::uint8_t {
  reads,    ///< Changes nothing.
  runs,     ///< Starts a program or a session of the user on nodes. The effects are those of the
            ///< user's program.
  writes,   ///< Writes a local file that the user names, and nothing else.
  changes,  ///< Changes clusters, nodes, clouds or the state directory: it has --dry-run.
};

/// The topic of a command, under which `fastgpu --help` lists it.
enum class Topic : std::uint8_t { clusters, nodes, jobs, environments, clouds, program };

struct CliCommand {
  std::string_view verb;
  std::string_view noun;  ///< Singular; empty for a verb alone.
  Topic topic;
  Effect effect;
  std::string_view summary;
  std::string_view example;
  /// Describes the command's arguments. Returns the action, which runs after the parse.
  Action (*describe)(Arguments& arguments);
  std::string_view notes{};  ///< Details beyond the summary.
  /// True for a command that runs with faulty variables and settings, too. Their faults are only
  /// warnings.
  bool runs_anyway = false;

  std::string words() const;  ///< "create cluster", "get clusters"
};

}  // namespace fastgpu::cli
