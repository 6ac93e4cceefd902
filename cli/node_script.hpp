// Scripts of ours that nodes run as root, and what came of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/fan_out.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// A command that runs `script` by sh, with `words` as its "$1" and on; for a user who is not root
/// by sudo.
std::string script_command(const state::Node& node, const char* script,
                           const std::vector<std::string>& words);

/// "demo-1 could not <do that>: <the first line that it complained in>"; absent for a success.
std::optional<Error> script_failure(const launcher::NodeAnswer& answer, const std::string& what);

}  // namespace fastgpu::cli
