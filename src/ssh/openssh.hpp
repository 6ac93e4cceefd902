// Writes configurations of OpenSSH for our hosts, also for people and programs that connect without
// fastgpu. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ssh/host.hpp"

namespace fastgpu::ssh {

/// Returns the text with each '%' escaped, because OpenSSH expands %h and similar sequences in the
/// names of hosts and files.
std::string openssh_literal(std::string_view text);

/// Returns the text of a known_hosts file with the hosts and their jump hosts, by name.
std::string openssh_known_hosts(std::span<const Host> hosts);

/// Returns a section for each host, which uses the host keys in the file `known_hosts` and never
/// trusts a key on first use. The first host can also be called `alias`, unless that is empty.
/// Throws ErrorKind::usage for a host in a network that OpenSSH cannot reach.
std::string openssh_config(std::span<const Host> hosts, const std::filesystem::path& known_hosts,
                           const std::string& alias = {});

/// The host keys that a connection accepts.
enum class HostKeyTrust : std::uint8_t {
  known,      ///< Only known keys.
  first_use,  ///< Any key of a host without a known one; the key is added to the file.
};

/// Returns the configuration for one connection of OpenSSH's client to `host`, which has
/// host.openssh. Our settings come first, so that they win over the user's. The user's settings
/// follow if host.openssh names them. Our settings never ask at a terminal. `known_hosts` has the
/// known keys, in the form of openssh_known_hosts().
std::string openssh_connection_config(const Host& host, const std::filesystem::path& known_hosts,
                                      std::chrono::milliseconds connect_timeout,
                                      HostKeyTrust trust = HostKeyTrust::known);

/// Returns the name of the host in that configuration.
const std::string& openssh_name(const Host& host);

/// The output of `ssh -G` for a host: the settings by their names in lower case, each with its
/// values.
using OpenSshSettings = std::map<std::string, std::vector<std::string>, std::less<>>;
OpenSshSettings parse_openssh_settings(std::string_view text);

/// Returns the configuration for `ssh -G`, which resolves names in the user's configuration.
std::string openssh_user_config(const std::filesystem::path& config);

}  // namespace fastgpu::ssh
