#include "comm/schedule/topology.hpp"

#include <algorithm>
#include <cassert>

#include "base/contains.hpp"

namespace fastgpu::comm {

int Topology::ranks() const noexcept {
  std::size_t sum = 0;
  for (const auto& node : nodes)
    sum += node.size();
  return static_cast<int>(sum);
}

int Topology::largest_node() const noexcept {
  std::size_t largest = 0;
  for (const auto& node : nodes)
    largest = std::max(largest, node.size());
  return static_cast<int>(largest);
}

int Topology::node_of(Rank rank) const {
  const auto holds = [rank](const auto& node) { return contains(node, rank); };
  const auto found = std::ranges::find_if(nodes, holds);
  assert(found != nodes.end());
  return static_cast<int>(found - nodes.begin());
}

Topology filled_nodes(int ranks, int ranks_per_node) {
  Topology topology;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank % ranks_per_node == 0) topology.nodes.emplace_back();
    topology.nodes.back().push_back(Rank{rank});
  }
  return topology;
}

}  // namespace fastgpu::comm
