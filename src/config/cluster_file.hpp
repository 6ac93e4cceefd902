// cluster.yaml: a cluster as a user writes it down. What is not written is absent here.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "config/document.hpp"

namespace fastgpu::config {

/// A host to go through on the way to another.
struct JumpEntry {
  std::string address;
  std::optional<std::uint16_t> port{};  ///< Absent: the user's ssh_config may have it, else 22.
  std::string user{};
  std::string identity{};  ///< A private key file, as written; empty: that of the host.
  std::vector<std::string> host_keys{};  ///< "ssh-ed25519 AAAA..."; empty asks for known_hosts.
};

/// One host of a static cluster.
struct HostEntry {
  std::string name{};  ///< Empty where the file gives none.
  std::string address{};
  std::optional<std::uint16_t> port{};  ///< Absent: the user's ssh_config may have it, else 22.
  std::string user{};
  std::optional<int> slots{};
  std::string identity{};  ///< A private key file, as written.
  std::string inner{};     ///< Address for the other hosts; empty: the same.
  std::optional<std::uint16_t> inner_port{};
  std::vector<std::string> host_keys{};  ///< "ssh-ed25519 AAAA..."; empty asks for known_hosts.
  std::vector<JumpEntry> jumps{};        ///< The one nearest to us first.
  std::string where{};                   ///< "cluster.yaml:7:3", for messages.
};

/// The limits that end or stop the cluster by itself, as written ("8h", "50usd"); empty: unset.
struct GuardEntry {
  std::string max_life{};
  std::string max_cost{};
  std::string unattended{};
  std::string idle_stop{};
  std::string idle_delete{};
};

/// The wanted machines of clouds: the flags of create cluster of the same names.
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
      host_defaults{};  ///< Port, identity and jump hosts of hosts that have none of their own.
  std::vector<HostEntry> hosts{};  ///< Complete: the defaults are in each.
  GuardEntry guards{};
  CloudFields cloud{};
};

/// Throws ErrorKind::usage with line and column for what cannot be.
ClusterFile read_cluster_file(const Document& document);

}  // namespace fastgpu::config
