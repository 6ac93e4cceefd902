// The words of a command line against what a command accepts.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/arguments.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {

using state::Environment;

/// Receives what is wrong with the user's surroundings where that stops nothing.
using HearFault = std::function<void(const Error&)>;

/// Hands each value in `words` to its argument; flags that are absent take theirs from the
/// environment, where an empty variable counts as unset. Words are told apart as by tokens_of; what
/// follows "--" goes to the program unread. An empty value is refused: no argument can use one.
/// `command` names the command in messages and variables. Throws ErrorKind::usage with the nearest
/// right spelling; a variable that cannot be read goes to `hear` instead, if there is one.
void parse_words(const std::string& command, std::span<const std::string> words,
                 const Arguments& arguments, const Environment& environment,
                 const HearFault& hear = nullptr);

}  // namespace fastgpu::cli
