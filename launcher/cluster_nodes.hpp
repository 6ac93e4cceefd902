// The nodes of a cluster by their names, and those of them that a job is on. Pure.
#pragma once

#include <span>
#include <vector>

#include "base/names.hpp"
#include "launcher/access.hpp"
#include "launcher/placement.hpp"
#include "ssh/host.hpp"

namespace fastgpu::launcher {

/// A node of the cluster, with the data that jobs need.
struct ClusterNode {
  ssh::Host host;  ///< The address, user and keys for this machine.
  Peer peer;       ///< The address, user and keys for the other nodes.
};

/// The nodes of a job: those that the cluster has, with their ranks, and those that have left it.
struct JobMembers {
  std::vector<ssh::Host> hosts{};
  std::vector<NodeRanks> placement{};  ///< One entry for each host.
  std::vector<NodeName> left{};
};

class ClusterNodes {
 public:
  explicit ClusterNodes(std::vector<ClusterNode> nodes) : nodes_(std::move(nodes)) {}

  /// Returns the node; null if the cluster has none of this name.
  const ClusterNode* find(const NodeName& name) const;

  /// Returns the node. Throws ErrorKind::not_found if the cluster has none of this name.
  const ClusterNode& at(const NodeName& name) const;

  JobMembers members_of(std::span<const NodeRanks> placement) const;

 private:
  std::vector<ClusterNode> nodes_;
};

}  // namespace fastgpu::launcher
