// The table of commands, and one command line from its words to its exit code.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/context.hpp"

namespace fastgpu::cli {

std::span<const Command> commands();

/// Runs what `words` (without the program's name) ask for; returns the exit code. Throws Error.
int run_app(const std::vector<std::string>& words, Context& context);

/// Returns the format of the document that the user wants, JSON or YAML, whatever is wrong with the
/// rest: for errors in the rest. Absent where no document is wanted.
std::optional<Format> wanted_document(std::span<const std::string> words,
                                      const state::Environment& environment);

/// The exit code that stands for an error of `kind`.
int exit_code(ErrorKind kind) noexcept;
std::string_view word_for(ErrorKind kind) noexcept;  ///< As JSON shows it: "not_found".

}  // namespace fastgpu::cli
