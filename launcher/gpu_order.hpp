// The choice of a node's GPUs for the ranks of a job, and their order, by the NVLinks between them.
// Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "agent/protocol/topology.hpp"

namespace fastgpu::launcher {

/// Returns `count` of these GPUs of a node, at most all, in the order of its ranks. `offered` has
/// their indexes in ascending order. The ranks of a node are a ring, in which each has two
/// neighbours. The ring is
/// - one with the most neighbours that are linked by NVLink,
/// - of these, one with the most links between neighbours,
/// - of these, one that changes the NUMA node least often,
/// - of these, the first in the order of the PCI bus.
/// The neighbours with the fewest links are its last and its first rank. Where all pairs have as
/// many links, or none, and with more than 16 GPUs, the order is that of the PCI bus.
std::vector<int> order_gpus(const agent::MachineTopology& topology, std::span<const int> offered,
                            std::size_t count);

/// Returns `count` of the GPUs of a node that are `free`, at most all, in ascending order. `free`
/// has their indexes in ascending order. Chooses
/// - GPUs with the best ring, by the links and NUMA nodes that order_gpus() compares,
/// - of these, those that leave most together: that have the fewest links with the GPUs that stay
///   free, and then the fewest of these on their NUMA nodes,
/// - of these, the first in the order of the PCI bus.
/// If more than 16 GPUs are free, it chooses the first ones.
std::vector<int> choose_gpus(const agent::MachineTopology& topology, std::span<const int> free,
                             std::size_t count);

/// The pairs of GPUs with the same number of NVLinks.
struct LinkedPairs {
  int links = 0;
  std::vector<std::string> pairs{};  ///< "0-1"; "all GPUs" alone if each is linked with each so.
};

/// Returns the pairs of linked GPUs of a node, those with the most links first.
std::vector<LinkedPairs> linked_pairs(const agent::MachineTopology& topology);

}  // namespace fastgpu::launcher
