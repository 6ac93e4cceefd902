// The parser of a command line for the arguments of one command.
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

/// Receives a fault in the user's environment that does not stop the command.
using HearFault = std::function<void(const Error&)>;

/// Hands each value in `words` to its argument. An absent flag takes its value from the
/// environment; an empty variable counts as unset. Words are classified as by tokens_of(); those
/// after "--" go to the program unread. Refuses empty values, because no argument can use one.
/// `command` names the command in messages and variables. Throws ErrorKind::usage with the nearest
/// right spelling. A fault in a variable goes to `hear` if there is one.
void parse_words(const std::string& command, std::span<const std::string> words,
                 const Arguments& arguments, const Environment& environment,
                 const HearFault& hear = nullptr);

}  // namespace fastgpu::cli
