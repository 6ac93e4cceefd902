// The places of a node for ranks, as a function of its topology and of what a rank is to have for
// itself, and their drawing. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/protocol/topology.hpp"
#include "launcher/job.hpp"

namespace fastgpu::launcher {

/// Returns indexes of CPUs or GPUs as people write them: "0-3,8".
std::string index_list(const std::vector<int>& indexes);

/// A part of a node that one rank gets.
struct RankPart {
  std::vector<int> cpus;  ///< Sorted, and in no other place of the node.
  int gpu = -1;           ///< The index of the GPU; -1 for none.

  friend bool operator==(const RankPart&, const RankPart&) = default;
};

/// Returns the places of a node for ranks that have a core, a NUMA node, a socket or a GPU each, in
/// the order of sockets, NUMA nodes and cores, or of GPUs. The GPUs of one NUMA node share its
/// cores; those whose NUMA node is unknown share all cores that remain, or all of the node.
std::vector<RankPart> rank_places(const agent::MachineTopology& topology, RankUnit unit);

/// The boot id of all nodes that are on this machine.
inline constexpr std::string_view kThisMachine = "local";

/// A node with its topology.
struct NodeTopology {
  NodeName name;
  agent::MachineTopology topology;
};

/// Returns the places of each node. Nodes that share one kernel get different ones, the same number
/// each, as far as there are enough.
std::vector<std::vector<RankPart>> places_of_nodes(std::span<const NodeTopology> nodes,
                                                   RankUnit unit);

/// Returns the place of a node among `nodes`, which has it.
std::size_t index_of(std::span<const NodeTopology> nodes, const NodeName& name);

/// The CPUs and GPUs of a rank, or of a job that holds them, for the drawing.
struct DrawnPart {
  std::string name;  ///< "rank 3", "job train-1"
  NodeName node;
  std::vector<int> cpus{};
  std::vector<int> gpus{};
};

/// Returns the ranks of a placement that have places, or the torchruns.
std::vector<DrawnPart> drawn_ranks(std::span<const NodeRanks> placement);

/// Returns the nodes, sockets, NUMA nodes, GPUs, NVLinks, adapters and these parts of a placement,
/// as lines of text.
std::string draw_placement(std::span<const NodeRanks> placement,
                           std::span<const NodeTopology> nodes, std::span<const DrawnPart> parts);

}  // namespace fastgpu::launcher
