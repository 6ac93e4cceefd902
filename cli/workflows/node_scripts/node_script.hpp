// Runs scripts of fastgpu on nodes as root, and reads their results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/fan_out.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// Returns a command that runs `script` with sh and passes `words` as "$1" and so on. Uses sudo for
/// a user other than root.
std::string script_command(const state::Node& node, const char* script,
                           const std::vector<std::string>& words);

/// Returns the error "demo-1 could not <what>: <first line on stderr>"; absent after a success.
std::optional<Error> script_failure(const launcher::NodeAnswer& answer, const std::string& what);

}  // namespace fastgpu::cli
