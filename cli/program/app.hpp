// The execution of one command line.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/program/command_table.hpp"
#include "cli/program/context.hpp"

namespace fastgpu::cli {

/// Runs the command in `words`, which do not include the program's name. Returns the exit code.
/// Throws Error.
int run_app(const std::vector<std::string>& words, Context& context);

/// Returns the document format that the words ask for, JSON or YAML; absent if they ask for none.
/// Ignores errors in the other words, so that such an error can be shown in this format.
std::optional<Format> wanted_document(std::span<const std::string> words,
                                      const state::Environment& environment);

/// Returns the exit code for an error of `kind`.
int exit_code(ErrorKind kind) noexcept;
std::string_view word_for(ErrorKind kind) noexcept;  ///< Returns the word in JSON: "not_found".

}  // namespace fastgpu::cli
