// The CPUs and the GPU of each rank, as a function of the nodes' topologies and of what a rank is
// to have for itself. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "agent/protocol/topology.hpp"
#include "launcher/job.hpp"

namespace fastgpu::launcher {

/// A part of a node that one rank gets.
struct RankPart {
  std::vector<int> cpus;  ///< Sorted, and in no other place of the node.
  int gpu = -1;           ///< The index of the GPU; -1 for none.
};

/// Returns the places of a node for ranks that have a core, a NUMA node, a socket or a GPU each, in
/// the order of sockets, NUMA nodes and cores, or of GPUs. The GPUs of one NUMA node share its
/// cores; those whose NUMA node is unknown share all cores that remain, or all of the node.
std::vector<RankPart> rank_places(const agent::MachineTopology& topology, RankUnit unit);

/// A node with its topology.
struct NodeTopology {
  NodeName name;
  agent::MachineTopology topology;
};

/// Returns the places of each node. Nodes that share one kernel get different ones, the same number
/// each, as far as there are enough.
std::vector<std::vector<RankPart>> places_of_nodes(std::span<const NodeTopology> nodes,
                                                   RankUnit unit);

/// Writes the CPUs and the GPU of each rank into the placement: the places in their order, and
/// those with GPUs as order_gpus() has them. With more ranks on a node than places, several ranks
/// have the same. `nodes` has every node of the placement.
void bind_ranks(std::vector<NodeRanks>& placement, std::span<const NodeTopology> nodes,
                RankUnit unit);

/// Returns the nodes, sockets, NUMA nodes, GPUs, NVLinks, adapters and ranks of a placement that
/// bind_ranks() has written, as lines of text; empty for RankUnit::none.
std::string draw_placement(std::span<const NodeRanks> placement,
                           std::span<const NodeTopology> nodes, RankUnit unit);

}  // namespace fastgpu::launcher
