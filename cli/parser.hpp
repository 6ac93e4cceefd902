// The words of a command line against what a command accepts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {

using state::Environment;

/// Hands each value in `words` to its argument; flags that are absent take theirs from the
/// environment. The value of a flag is the next word whatever it looks like, or what follows "=";
/// what follows "--" goes to the program unread. `command` names the command in messages. Throws
/// ErrorKind::usage with the nearest right spelling.
void parse_words(const std::string& command, std::span<const std::string> words,
                 const Arguments& arguments, const Environment& environment);

}  // namespace fastgpu::cli
