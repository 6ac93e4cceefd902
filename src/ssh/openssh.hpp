// Hosts of ours in OpenSSH's own words, for people and programs that go there without us. Pure.
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

/// Lines of a known_hosts file that has the hosts, and those on the way to them, by their names.
std::string openssh_known_hosts(std::span<const Host> hosts);

/// Returns a section for each host, with that file of host keys, and never trusts a key on first
/// use. The first host also answers to `alias`, unless that is empty. Throws ErrorKind::usage for a
/// host in a network that OpenSSH does not reach.
std::string openssh_config(std::span<const Host> hosts, const std::filesystem::path& known_hosts,
                           const std::string& alias = {});

/// Which host keys a connection goes on with.
enum class Trust : std::uint8_t {
  known,      ///< Those that are known.
  first_use,  ///< Any of a host without one, which is added to the file.
};

/// Returns the configuration for one connection of OpenSSH's client to `host`, which has
/// host.openssh. Our settings come first, so that they hold against those of the user, which follow
/// where host.openssh names them. No setting of ours asks at a terminal. The known keys are in
/// `known_hosts`, in the form of openssh_known_hosts().
std::string openssh_connection_config(const Host& host, const std::filesystem::path& known_hosts,
                                      std::chrono::milliseconds connect_timeout,
                                      Trust trust = Trust::known);

/// Returns the name to call the client with, for that configuration.
const std::string& openssh_name(const Host& host);

/// What `ssh -G` prints for a host: settings by their names in small letters, each with its values.
using OpenSshSettings = std::map<std::string, std::vector<std::string>, std::less<>>;
OpenSshSettings parse_openssh_settings(std::string_view text);

/// Returns the configuration for `ssh -G`, which resolves the names that the user's own one has.
std::string openssh_user_config(const std::filesystem::path& config);

}  // namespace fastgpu::ssh
