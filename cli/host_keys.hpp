// Commands by which a node gets a host key of its own, and what their answers mean.
#pragma once

#include <string>

#include "base/host_result.hpp"
#include "launcher/fan_out.hpp"
#include "provision/tools.hpp"

namespace fastgpu::cli {

/// Makes a key beside the one that sshd shows, once, prints its public half, and gives the node its
/// name. For a user who is not root by sudo.
std::string make_host_key_command(const state::Node& node);

/// Puts that key in place of the one that sshd shows, and has sshd read it.
std::string show_host_key_command(const state::Node& node);

/// The key that a node has printed.
HostResult<std::string> host_key_in(const launcher::NodeAnswer& answer);

HostResult<provision::Reached> host_key_shown(const launcher::NodeAnswer& answer);

}  // namespace fastgpu::cli
