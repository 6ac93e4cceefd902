// cluster.yaml: a cluster as the user writes it down. Fields that are not in the file are absent
// here.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "config/document.hpp"
#include "state/scheduler.hpp"

namespace fastgpu::provision {

/// A jump host on the way to another host.
struct JumpEntry {
  std::string address;
  /// Absent if the user's ssh_config may set it; 22 by default.
  std::optional<std::uint16_t> port{};
  std::string user{};
  std::string identity{};  ///< A private key file, as written; empty to use that of the host.
  std::vector<std::string> host_keys{};  ///< "ssh-ed25519 AAAA..."; empty asks for known_hosts.
};

/// One host of a static cluster.
struct HostEntry {
  std::string name{};  ///< Empty if the file has no name for it.
  std::string address{};
  /// Absent if the user's ssh_config may set it; 22 by default.
  std::optional<std::uint16_t> port{};
  std::string user{};
  std::optional<int> slots{};
  std::string identity{};  ///< A private key file, as written.
  std::string inner{};     ///< The host's address for the other hosts; empty if it is the same.
  std::optional<std::uint16_t> inner_port{};
  std::vector<std::string> host_keys{};  ///< "ssh-ed25519 AAAA..."; empty asks for known_hosts.
  std::vector<JumpEntry> jumps{};        ///< The jump hosts, from the nearest one on.
  std::string where{};                   ///< "cluster.yaml:7:3", for messages.
};

/// The limits that stop or delete the cluster automatically, as written ("8h", "50usd"); empty if
/// not set.
struct GuardEntry {
  std::string max_life{};
  std::string max_cost{};
  std::string unattended{};
  std::string idle_stop{};
  std::string idle_delete{};
};

/// The wanted machines in a cloud: the flags of `create cluster` with the same names.
struct CloudFields {
  std::vector<std::string> clouds{};
  std::string gpus{};
  std::string instance_type{};
  std::string region{};
  std::string zone{};
  std::string image{};
  std::string vpc{};
  std::string max_price{};
  std::string hold_cost{};
  std::string public_address{};
  std::string data_disk{};
  std::vector<std::string> mounts{};
  std::vector<std::string> ssh_from{};
  std::optional<int> disk{};
  std::optional<int> min_nodes{};
  std::optional<std::chrono::milliseconds> hold{};
  bool spot = false;
  bool rdma = false;
};

struct ClusterFile {
  std::optional<std::string> name{};
  std::optional<std::string> provider{};
  std::optional<int> nodes{};
  std::optional<int> slots{};
  std::optional<BitRate> link_rate{};
  std::optional<std::string> user{};
  HostEntry
      host_defaults{};  ///< The port, identity and jump hosts for hosts that set none themselves.
  std::vector<HostEntry> hosts{};  ///< All hosts, with the defaults filled in.
  GuardEntry guards{};
  std::optional<state::Scheduler> scheduler{};
  CloudFields cloud{};
};

/// Reads a cluster. Throws ErrorKind::usage, with line and column, for an invalid file.
ClusterFile read_cluster_file(const config::Document& document);

}  // namespace fastgpu::provision
