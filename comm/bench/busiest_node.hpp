// The bytes that go over the busiest link between nodes: all ranks of a node share its link.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "comm/schedule/topology.hpp"

namespace fastgpu::comm::bench {

/// Returns the largest sum of a node. `sent` has the bytes of each rank.
inline double sent_by_busiest_node(const Topology& topology, std::span<const double> sent) {
  double most = 0;
  for (const auto& node : topology.nodes) {
    double sum = 0;
    for (const Rank rank : node)
      sum += sent[static_cast<std::size_t>(rank.value)];
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace fastgpu::comm::bench
