// Our hosts in OpenSSH's own configuration, for people and programs that connect without us. Pure.
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

/// Returns the lines of a known_hosts file with the hosts, and those on the way to them, by name.
std::string openssh_known_hosts(std::span<const Host> hosts);

/// Returns a section for each host, with that file of host keys. It never trusts a key on first
/// use. The first host also answers to `alias`, unless that is empty. Throws ErrorKind::usage for a
/// host in a network that OpenSSH does not reach.
std::string openssh_config(std::span<const Host> hosts, const std::filesystem::path& known_hosts,
                           const std::string& alias = {});

/// The host keys that a connection accepts.
enum class Trust : std::uint8_t {
  known,      ///< Known keys only.
  first_use,  ///< Any key of a host without a known one; it is added to the file.
};

/// Returns the configuration for one connection of OpenSSH's client to `host`, which has
/// host.openssh. Our settings come first, so that they override those of the user. The user's
/// follow where host.openssh names them. Our settings never ask at a terminal. The known keys are
/// in `known_hosts`, in the form of openssh_known_hosts().
std::string openssh_connection_config(const Host& host, const std::filesystem::path& known_hosts,
                                      std::chrono::milliseconds connect_timeout,
                                      Trust trust = Trust::known);

/// Returns the name to pass to the client with that configuration.
const std::string& openssh_name(const Host& host);

/// The output of `ssh -G` for a host: settings by their names in lower case, each with its values.
using OpenSshSettings = std::map<std::string, std::vector<std::string>, std::less<>>;
OpenSshSettings parse_openssh_settings(std::string_view text);

/// Returns the configuration for `ssh -G`, which resolves the names in the user's own one.
std::string openssh_user_config(const std::filesystem::path& config);

}  // namespace fastgpu::ssh
