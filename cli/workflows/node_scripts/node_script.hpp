// Scripts of ours that nodes run as root, and their results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/fan_out.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// Returns a command that runs `script` by sh, with `words` as its "$1" and on; by sudo for a user
/// other than root.
std::string script_command(const state::Node& node, const char* script,
                           const std::vector<std::string>& words);

/// Returns "demo-1 could not <do that>: <its first line on stderr>"; absent for a success.
std::optional<Error> script_failure(const launcher::NodeAnswer& answer, const std::string& what);

}  // namespace fastgpu::cli
