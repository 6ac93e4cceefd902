// Commands that give a node a host key of its own, and the parsing of their answers.
#pragma once

#include <string>

#include "base/host_result.hpp"
#include "launcher/fan_out.hpp"
#include "provision/tools.hpp"

namespace fastgpu::cli {

/// Returns a command that creates a second host key beside sshd's (only once), prints its public
/// half, and sets the node's host name. Uses sudo for a user other than root.
std::string make_host_key_command(const state::Node& node);

/// Returns a command that replaces sshd's key by the new one and makes sshd load it.
std::string show_host_key_command(const state::Node& node);

/// Returns the key that the node has printed, or its error.
HostResult<std::string> host_key_in(const launcher::NodeAnswer& answer);

HostResult<provision::Reached> host_key_shown(const launcher::NodeAnswer& answer);

}  // namespace fastgpu::cli
