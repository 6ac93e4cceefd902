// The model of a simulation.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "comm/schedule/network_model.hpp"
#include "comm/schedule/program.hpp"
#include "comm/schedule/topology.hpp"

namespace fastgpu::comm {

/// The model beyond Network: a message is cut in at most 8 quanta of at least 64 KiB, or at most 32
/// where nodes have several networks. There each network takes the next quantum of a message when
/// it has sent the one before, and a message of one quantum goes by the network that brings it
/// first. The quanta of one channel follow each other at the rate of a flow. Those of different
/// channels queue, first come first served, for the sending node's way out and then for the
/// receiving node's way in (inside a node: for its memory). This comes close to fair sharing. They
/// pass through without being stored. A send is done when its last byte has left; messages that no
/// receive waits for yet are kept without limit. A rank's processor does one thing at a time, in
/// the order of demand: beginning a send, finishing a receive and reducing what came, copying.
struct Simulated {
  Topology topology;
  NetworkModel network;
  std::uint64_t element_bytes = 4;

  /// Networks between nodes beside `network.across`, up to 7: further cards of each node, or other
  /// networks, which carry each message together.
  std::vector<NetworkLink> beside{};

  /// 0, or a number of ranks: rank r + period does what rank r does, at the same time. Only the
  /// first `period` ranks must be run then. All nodes hold as many ranks, in order, and the first
  /// nodes hold just these. Rings and direct exchanges on such nodes have this symmetry.
  int period = 0;

  /// The start of each rank that is run; empty: all at 0.
  std::vector<Seconds> starts{};
};

using ProgramOf = std::function<Program(Rank)>;

}  // namespace fastgpu::comm
