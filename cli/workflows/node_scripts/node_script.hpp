// Runs scripts of fastgpu on nodes as root, and reads their results.
#pragma once

#include <string>
#include <vector>

#include "launcher/fan_out.hpp"
#include "provision/tools.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// Returns a command that runs `script` with sh and passes `words` as "$1" and so on. Uses sudo for
/// a user other than root.
std::string script_command(const state::Node& node, const char* script,
                           const std::vector<std::string>& words);

/// Returns a command that runs `script` in the same way as the user who logs in.
std::string user_script_command(const char* script, const std::vector<std::string>& words);

/// Throws "demo-1 could not <what>: <first line on stderr>" if the script did not succeed:
/// denied, with what gives root's rights, if sudo refuses them; else remote.
void check_script(const launcher::NodeAnswer& answer, const std::string& what);

/// Returns Reached, or the error that check_script() throws.
HostResult<provision::Reached> reached_by(const launcher::NodeAnswer& answer,
                                          const std::string& what);

}  // namespace fastgpu::cli
