// Commands by which a node gets a host key of its own, and the evaluation of their answers.
#pragma once

#include <string>

#include "base/host_result.hpp"
#include "launcher/fan_out.hpp"
#include "provision/tools.hpp"

namespace fastgpu::cli {

/// Returns a command that makes a key beside the one that sshd shows, once, prints its public half,
/// and sets the node's host name. It uses sudo for a user other than root.
std::string make_host_key_command(const state::Node& node);

/// Returns a command that puts that key in place of the one that sshd shows, and has sshd read it.
std::string show_host_key_command(const state::Node& node);

/// Returns the key that a node has printed.
HostResult<std::string> host_key_in(const launcher::NodeAnswer& answer);

HostResult<provision::Reached> host_key_shown(const launcher::NodeAnswer& answer);

}  // namespace fastgpu::cli
