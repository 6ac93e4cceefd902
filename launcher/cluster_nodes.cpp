#include "launcher/cluster_nodes.hpp"

#include <algorithm>

#include "base/contains.hpp"
#include "base/error.hpp"

namespace fastgpu::launcher {

const ClusterNode* ClusterNodes::find(const NodeName& name) const {
  const auto found = std::ranges::find_if(
      nodes_, [&](const ClusterNode& candidate) { return candidate.host.name == name; });
  return found == nodes_.end() ? nullptr : &*found;
}

const ClusterNode& ClusterNodes::at(const NodeName& name) const {
  if (const ClusterNode* found = find(name)) return *found;
  throw Error(ErrorKind::not_found, "node " + name.value + " is no longer in the cluster");
}

JobMembers ClusterNodes::members_of(std::span<const NodeRanks> placement) const {
  JobMembers members;
  for (const NodeRanks& ranks : placement) {
    if (const ClusterNode* there = find(ranks.node)) {
      members.hosts.push_back(there->host);
      members.placement.push_back(ranks);
    } else if (!contains(members.left, ranks.node)) {
      members.left.push_back(ranks.node);
    }
  }
  return members;
}

}  // namespace fastgpu::launcher
