// Hosts of ours in OpenSSH's own words, for people and programs that go there without us. Pure.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "ssh/host.hpp"

namespace fastgpu::ssh {

/// Lines of a known_hosts file that has the hosts, and those on the way to them, by their names.
std::string openssh_known_hosts(std::span<const Host> hosts);

/// Returns a section for each host, with that file of host keys, and never trusts a key on first
/// use. The first host also answers to `alias`, unless that is empty. Throws ErrorKind::usage for a
/// host in a network that OpenSSH does not reach.
std::string openssh_config(std::span<const Host> hosts, const std::filesystem::path& known_hosts,
                           const std::string& alias = {});

}  // namespace fastgpu::ssh
