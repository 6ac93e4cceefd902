// The table of commands, and the execution of one command line.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/program/command.hpp"
#include "cli/program/context.hpp"

namespace fastgpu::cli {

std::span<const Command> commands();

/// Runs the command in `words` (without the program's name); returns the exit code. Throws Error.
int run_app(const std::vector<std::string>& words, Context& context);

/// Returns the format of the wanted document, JSON or YAML, even if the rest of the words is wrong:
/// for errors in the rest. Absent if no document is wanted.
std::optional<Format> wanted_document(std::span<const std::string> words,
                                      const state::Environment& environment);

/// Returns the exit code for an error of `kind`.
int exit_code(ErrorKind kind) noexcept;
std::string_view word_for(ErrorKind kind) noexcept;  ///< Returns the word in JSON: "not_found".

}  // namespace fastgpu::cli
