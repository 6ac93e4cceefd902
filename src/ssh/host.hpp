// A machine as SSH sees it: where it answers, who we are there, and which keys prove that it is it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/names.hpp"

namespace fastgpu::ssh {

/// Who logs in by OpenSSH's client.
enum class Login : std::uint8_t {
  with_identity,  ///< Host::identity alone opens the host.
  as_user,  ///< Host::identity where it is not empty, and all that the user's configuration has:
            ///< agents, certificates, other keys.
};

/// The way to a host by OpenSSH's client, which knows more algorithms, keys and proxies than
/// libssh2.
struct OpenSsh {
  Login login = Login::with_identity;
  std::string name{};              ///< What the user's configuration knows the host by.
  std::filesystem::path config{};  ///< The user's configuration; empty: none is read.
  std::string proxy{};             ///< "ProxyJump gate", "ProxyCommand nc ..."; empty: none.
  std::filesystem::path agent{};   ///< Socket of the agent to ask; empty: the user's.

  friend bool operator==(const OpenSsh&, const OpenSsh&) = default;
};

struct Host {
  NodeName name{};        ///< For messages and line prefixes.
  std::string address{};  ///< IPv4, IPv6 or DNS name.
  std::uint16_t port = 22;
  std::filesystem::path door{};  ///< Into the network of `address` (base/door.hpp); empty: ours.
  std::string user{};
  std::filesystem::path identity{};  ///< Private key file in OpenSSH's format, Ed25519.
  /// Public keys in the form "ssh-ed25519 AAAA...", one of which the host must prove to own. Empty
  /// means that nothing is known of the host: connecting fails with ErrorKind::denied. Keys of
  /// other types count with `openssh` alone.
  std::vector<std::string> host_keys{};
  std::vector<Host> jumps{};         ///< Hosts to go through, the one nearest to us first.
  std::optional<OpenSsh> openssh{};  ///< Absent: the host is reached by libssh2.

  friend bool operator==(const Host&, const Host&) = default;
};

}  // namespace fastgpu::ssh
