// Environment variables for programs on the nodes, from flags and files.
#pragma once

#include <string>
#include <vector>

#include "cli/program/arguments.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {

struct VariableFlags {
  /// "NAME=VALUE", or "NAME" to pass on a variable of our environment.
  std::vector<std::string> given{};
  std::vector<std::string> files{};
};

/// Declares --env and --env-file. `receiver` is named in their help: "every rank".
void describe_variables(Arguments& arguments, VariableFlags& flags, const std::string& receiver);

/// Returns "NAME=VALUE" for "NAME", whose value is taken from `ours`, or "NAME=@FILE", whose value
/// is the file without its last newline. Throws usage for "NAME=VALUE", which others could read in
/// the list of processes, and not_found for a missing file.
/// `where` begins its errors: the flag, or the place in a file.
std::string secret_variable(const std::string& text, const state::Environment& ours,
                            const std::string& where = "--secret");

/// Returns "NAME=VALUE" for each variable, each name once. Flags win over files, and later ones
/// over earlier ones. A bare name takes its value from `ours`. Throws usage for an invalid name,
/// for a bare name that is not set, and for a file that is not a regular one or has more than 256
/// KiB. Error messages never contain a value.
std::vector<std::string> variables_of(const VariableFlags& flags, const state::Environment& ours);

/// Returns the assignments in the text of a file. Each line is NAME=VALUE, whose value is
/// everything up to the end of the line, or a bare NAME. Ignores empty lines and lines that begin
/// with '#'. `source` names the file in errors.
std::vector<std::string> variables_in(const std::string& text, const std::string& source,
                                      const state::Environment& ours);

}  // namespace fastgpu::cli
