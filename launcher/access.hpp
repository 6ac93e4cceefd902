// How the first node reaches the others: a key, pinned host keys, and an ssh configuration of ours.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent/protocol/facts.hpp"
#include "agent/protocol/files.hpp"
#include "base/secret.hpp"

namespace fastgpu::launcher {

/// The data by which other nodes log in to a node.
struct Peer {
  std::string address;
  std::uint16_t port = 22;
  std::string user;
  std::vector<std::string> host_keys{};  ///< "ssh-ed25519 AAAA..."
};

struct ClusterAccess {
  std::string cluster_id;
  Secret private_key;          ///< A key in OpenSSH's format. All nodes accept it.
  std::string cluster_name{};  ///< The user's name for the cluster, for messages.
};

/// Returns the name for mpirun of the node at this place of the job; mpirun runs on the first one.
/// It is the address if that is IPv4 and SSH answers at the usual port. Else a name that only
/// ssh_config() knows: Open MPI takes no colons in names, cuts them at the first dot, and takes two
/// ports of one address for one node.
std::string mpirun_name(const Peer& peer, std::size_t place);

/// Returns the cluster's key, and known_hosts and ssh_config for connections to these peers, for
/// the node with these facts. All names are relative to ".fastgpu". Those of the two begin with
/// `prefix`, which is the caller's own: at any time others may connect to other peers.
std::vector<agent::SmallFile> access_files(const ClusterAccess& access, std::span<const Peer> peers,
                                           const agent::JobNodeFacts& node,
                                           const std::string& prefix);

/// Returns a prefix for access_files() that is the same for all who connect to these peers.
std::string access_prefix(const ClusterAccess& access, std::span<const Peer> peers);

std::string known_hosts(std::span<const Peer> peers);
/// The paths are absolute; `ssh_version` is that of JobNodeFacts.
std::string ssh_config(std::span<const Peer> peers, const std::string& key_path,
                       const std::string& known_hosts_path, const std::string& ssh_version);

}  // namespace fastgpu::launcher
