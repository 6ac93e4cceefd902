// The parser of a command line, with the arguments that a command accepts.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/program/arguments.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {

using state::Environment;

/// A receiver of faults in the user's environment that stop nothing.
using HearFault = std::function<void(const Error&)>;

/// Hands each value in `words` to its argument; flags that are absent take theirs from the
/// environment, where an empty variable counts as unset. Words are classified as by tokens_of;
/// those after "--" go to the program unread. An empty value is refused: no argument can use one.
/// `command` names the command in messages and variables. Throws ErrorKind::usage with the nearest
/// right spelling; a fault in a variable goes to `hear` instead, if there is one.
void parse_words(const std::string& command, std::span<const std::string> words,
                 const Arguments& arguments, const Environment& environment,
                 const HearFault& hear = nullptr);

}  // namespace fastgpu::cli
