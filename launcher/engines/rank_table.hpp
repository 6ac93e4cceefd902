// The rank table of HCCL: which Ascend processor of which node each rank has. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "agent/protocol/facts.hpp"
#include "base/names.hpp"

namespace fastgpu::launcher {

/// A node of a job with Ascend processors.
struct RankTableNode {
  NodeName name{};
  std::string address{};  ///< The address for the other nodes.
  std::vector<agent::NpuDevice> npus{};
  int ranks = 1;
};

/// Returns the table as JSON, version 1.0: ranks in the order of the nodes, the first processors of
/// each. Throws ErrorKind::conflict, with the node, where HCCL would refuse it or hang: fewer
/// processors than ranks, and addresses that are missing between nodes, malformed, or those of two
/// processors or nodes.
std::string rank_table(std::span<const RankTableNode> nodes);

}  // namespace fastgpu::launcher
