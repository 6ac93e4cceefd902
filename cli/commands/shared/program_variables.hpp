// Environment variables for programs on the nodes, from flags and files.
#pragma once

#include <string>
#include <vector>

#include "cli/program/arguments.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {

struct VariableFlags {
  std::vector<std::string> given{};  ///< "NAME=VALUE", or "NAME" for ours.
  std::vector<std::string> files{};
};

/// Declares --env and --env-file; `receiver` is the receiver of the variables: "every rank".
void describe_variables(Arguments& arguments, VariableFlags& flags, const std::string& receiver);

/// Returns "NAME=VALUE" for all of them, each name once: flags win over files, later ones over
/// earlier ones. A bare name takes its value from `ours`. Throws usage for an invalid name, for a
/// bare name that is not set, and for a file that is not a regular one or has more than 256 KiB.
/// Never shows a value.
std::vector<std::string> variables_of(const VariableFlags& flags, const state::Environment& ours);

/// Returns the assignments of a file's text: lines of NAME=VALUE, the value taken unchanged up to
/// the end of the line, or NAME. Empty lines and those that begin with '#' are ignored. `source`
/// names the file in errors.
std::vector<std::string> variables_in(const std::string& text, const std::string& source,
                                      const state::Environment& ours);

}  // namespace fastgpu::cli
