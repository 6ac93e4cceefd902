// Which ranks share a machine.
#pragma once

#include <cstddef>
#include <vector>

#include "comm/rank.hpp"

namespace fastgpu::comm {

/// Every rank from 0 is on one node. Nodes may hold different numbers of ranks, but at least one.
struct Topology {
  std::vector<std::vector<Rank>> nodes;

  int ranks() const noexcept;
  int largest_node() const noexcept;  ///< Its number of ranks.
  int node_of(Rank rank) const;       ///< An index into `nodes`.
};

/// Rank 0 and those after it on the first node, and so on; the last node may hold fewer.
Topology filled_nodes(int ranks, int ranks_per_node);

}  // namespace fastgpu::comm
