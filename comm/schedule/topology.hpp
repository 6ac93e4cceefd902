// The machines that ranks share.
#pragma once

#include <cstddef>
#include <vector>

#include "comm/common/rank.hpp"

namespace fastgpu::comm {

/// The ranks of each node. Every rank from 0 is on one node. Nodes may have different numbers of
/// ranks, but at least one.
struct Topology {
  std::vector<std::vector<Rank>> nodes;
  /// True if all nodes are parts of one machine, whose ranks do not all share memory.
  bool is_one_machine = false;

  int ranks() const noexcept;
  int largest_node() const noexcept;  ///< Returns the number of ranks of the largest node.
  int node_of(Rank rank) const;       ///< Returns an index into `nodes`.
};

/// Puts rank 0 and those after it on the first node, and so on; the last node may have fewer.
Topology filled_nodes(int ranks, int ranks_per_node);

}  // namespace fastgpu::comm
