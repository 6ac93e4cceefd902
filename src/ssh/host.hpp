// The data for reaching a machine by SSH: its address, our login, and the keys that prove its
// identity.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/names.hpp"

namespace fastgpu::ssh {

/// The keys with which OpenSSH's client logs in.
enum class Login : std::uint8_t {
  with_identity,  ///< Only Host::identity.
  as_user,  ///< Host::identity if it is not empty, and everything in the user's configuration:
            ///< agents, certificates, other keys.
};

/// How to reach a host by OpenSSH's client, which supports more algorithms, keys and proxies than
/// libssh2.
struct OpenSsh {
  Login login = Login::with_identity;
  std::string name{};              ///< The host's name in the user's configuration.
  std::filesystem::path config{};  ///< The user's configuration; empty to read no file.
  std::string proxy{};             ///< "ProxyJump gate", "ProxyCommand nc ..."; empty for no proxy.
  std::filesystem::path agent{};   ///< The agent's socket; empty for the user's agent.

  friend bool operator==(const OpenSsh&, const OpenSsh&) = default;
};

/// The words for a host that shows another key than its known ones.
struct KnownKeySource {
  std::string origin{};  ///< The origin of the known keys: "which cluster lab has pinned".
  std::string remedy{};  ///< "if it was installed anew: ..."; empty without a remedy.

  friend bool operator==(const KnownKeySource&, const KnownKeySource&) = default;
};

struct Host {
  NodeName name{};        ///< The name for messages and line prefixes.
  std::string address{};  ///< IPv4, IPv6 or DNS name.
  std::uint16_t port = 22;
  /// The socket of the broker for the network of `address` (base/socket_broker.hpp); empty for our
  /// own network.
  std::filesystem::path socket_broker{};
  /// True if its sshd runs on the cores of this machine, as those of local nodes do.
  bool is_on_this_machine = false;
  std::string user{};
  std::filesystem::path identity{};  ///< The private key file: Ed25519, in OpenSSH's format.
  /// Public keys in the form "ssh-ed25519 AAAA...", one of which the host must prove to own. If the
  /// list is empty, connecting fails with ErrorKind::denied. Keys of other types count only with
  /// `openssh`.
  std::vector<std::string> host_keys{};
  KnownKeySource key_source{};
  std::vector<Host> jumps{};         ///< The jump hosts, from the nearest one on.
  std::optional<OpenSsh> openssh{};  ///< Absent if the host is reached by libssh2.
  /// The file for the note that the host does not answer (state/silence.hpp); empty for none.
  std::filesystem::path silence_note{};

  friend bool operator==(const Host&, const Host&) = default;
};

/// Returns "train-3 (10.1.2.3:22)".
std::string place(const Host& host);

}  // namespace fastgpu::ssh
