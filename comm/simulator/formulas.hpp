// Closed forms of collectives on a Network, to compare simulated times with.
#pragma once

#include <span>

#include "comm/schedule/network_model.hpp"

namespace fastgpu::comm {

/// A number of ranks, evenly spread.
struct Spread {
  int nodes = 1;
  int ranks_per_node = 1;

  int ranks() const noexcept { return nodes * ranks_per_node; }
};

/// Returns the time of a ring of one rank a node without pipelining, which reduces what it has
/// received: 2(n-1)(alpha + S/n/beta), and 2(n-1) 2o and (n-1) S/n gamma for the processor (Thakur,
/// Rabenseifner and Gropp 2005).
Seconds ring_time(int ranks, double bytes, const NetworkModel& network);

/// Returns the time of recursive doubling with one rank a node: log2 n (alpha + S/beta + 2o + S
/// gamma). The number of ranks is a power of two.
Seconds recursive_doubling_time(int ranks, double bytes, const NetworkModel& network);

/// Returns the time of NCCL's ring by its own cost model: 2(ranks-1) steps of which 2 nodes cross
/// between nodes, pipelined, on one network card a node.
Seconds nccl_ring_time(const Spread& spread, double bytes, const NetworkModel& network);

/// Returns the time of NCCL's double binary tree over the nodes and chains inside them (Sanders,
/// Speck and Traeff, Two-tree algorithms for full bandwidth broadcast, reduction and scan, 2009).
/// Every node sends the data twice, and the depth is the logarithm of the nodes.
Seconds nccl_tree_time(const Spread& spread, double bytes, const NetworkModel& network);

/// Returns the model of nodes whose networks, `network.across` and those beside it, carry each
/// message together: the sum of rates, and the shortest latency.
NetworkModel together(const NetworkModel& network, std::span<const NetworkLink> beside);

/// Returns the bandwidth of an all-reduce as nccl-tests defines it: the bytes that a ring moves per
/// rank, by the time.
Rate bus_bandwidth(int ranks, double bytes, Seconds duration);

}  // namespace fastgpu::comm
