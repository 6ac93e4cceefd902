// The hosts of a static cluster, as its file lists them and as the state keeps them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/cluster_file.hpp"
#include "state/model.hpp"

namespace fastgpu::provision {

/// A host to go through on the way to another.
struct StaticJump {
  std::string address{};
  std::uint16_t port = 22;
  std::string user{};
  std::string identity{};  ///< An absolute path; empty means that of the host behind it.
  std::vector<std::string> host_keys{};
};

/// How OpenSSH's client takes the place of libssh2 on the way to a host: for the user's own login,
/// which lets the cluster's key in, or for every login.
struct OpenSshUse {
  std::string name{};      ///< What the user's configuration knows the host by.
  std::string config{};    ///< The user's configuration, an absolute path; empty: there is none.
  std::string proxy{};     ///< "ProxyJump gate", "ProxyCommand nc ..."; empty: none.
  std::string identity{};  ///< The user's key where the file or the configuration names one.
  bool first = false;      ///< The user's login goes by the client at once; else where libssh2
                           ///< is refused.
  bool always = false;     ///< The cluster's key needs the client, too.
};

struct StaticHost {
  std::string name{};  ///< Empty means "<cluster>-<index>".
  std::string address;
  std::uint16_t port = 22;
  std::string user{};                    ///< Empty means the cluster's.
  std::optional<int> slots{};            ///< Absent means the cluster's.
  std::string identity{};                ///< An absolute path; empty means the cluster's own key.
  std::vector<std::string> host_keys{};  ///< Must not be empty when a cluster is made.
  std::vector<StaticJump> jumps{};
  std::string inner{};  ///< Where the other hosts reach it; empty: at `address` and `port`.
  std::uint16_t inner_port = 22;
  std::optional<OpenSshUse> openssh{};  ///< Absent: libssh2 reaches it, also as the user.
};

/// The hosts of a file. Relative identities are taken from `file_directory`, "~/" from `home`. Host
/// keys that the file leaves out stay empty: the caller finds them before it makes a cluster.
std::vector<StaticHost> static_hosts(const config::ClusterFile& file,
                                     const std::filesystem::path& file_directory,
                                     const std::filesystem::path& home);

/// What state::Cluster::spec_json holds for a static cluster, and back. Reading throws
/// ErrorKind::local where the text is none of ours.
std::string to_spec_json(const std::vector<StaticHost>& hosts);
std::vector<StaticHost> parse_spec_json(const state::Cluster& cluster);

}  // namespace fastgpu::provision
