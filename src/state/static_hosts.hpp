// The hosts of a static cluster: how each is reached.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fastgpu::state {

/// A host through which another one is reached.
struct StaticJump {
  std::string address{};
  std::uint16_t port = 22;
  std::string user{};
  /// An absolute path; empty: the key of the host behind it.
  std::string identity{};
  std::vector<std::string> host_keys{};
};

/// The use of OpenSSH's client in place of libssh2 for a host: for the user's own login, which
/// installs the cluster's key, or for every login.
struct OpenSshUse {
  std::string name{};    ///< The host's name in the user's configuration.
  std::string config{};  ///< An absolute path; empty: no configuration.
  std::string proxy{};   ///< "ProxyJump gate", "ProxyCommand nc ..."; empty: none.
  /// The user's key, if the file or the configuration names one.
  std::string identity{};
  /// True: the user's login uses the client at once. False: only after libssh2 was refused.
  bool first = false;
  bool always = false;  ///< The cluster's key needs the client, too.
};

struct StaticHost {
  std::string name{};  ///< Empty means "<cluster>-<index>".
  std::string address;
  std::uint16_t port = 22;
  std::string user{};                    ///< Empty: the cluster's user.
  std::optional<int> slots{};            ///< Absent: the cluster's number.
  std::string identity{};                ///< An absolute path; empty: the cluster's own key.
  std::vector<std::string> host_keys{};  ///< Must not be empty when a cluster is made.
  std::vector<StaticJump> jumps{};
  std::string inner{};  ///< The address for other hosts; empty: `address`, `port`.
  std::uint16_t inner_port = 22;
  std::optional<OpenSshUse> openssh{};  ///< Absent: libssh2 is used for all logins.
};

}  // namespace fastgpu::state
