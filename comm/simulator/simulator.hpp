// Predicts how long programs take on a modelled network, by running them event after event.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "comm/schedule/network.hpp"
#include "comm/schedule/program.hpp"
#include "comm/schedule/topology.hpp"

namespace fastgpu::comm {

/// The model beyond Network: a message is cut in at most 8 quanta of at least 64 KiB. The quanta
/// of one channel follow each other at the rate of a flow; those of different channels queue, first
/// come first served, for the sending node's way out and then for the receiving node's way in
/// (inside a node: for its memory), which comes close to fair sharing. They pass through without
/// being stored. A send is done when its last byte has left; messages that nobody waits for yet are
/// kept without limit. A rank's processor does one thing at a time, in the order of demand:
/// beginning a send, finishing a receive and reducing what came, copying.
struct Simulated {
  Topology topology;
  Network network;
  std::uint64_t element_bytes = 4;

  /// 0, or a number of ranks: rank r + period does what rank r does, at the same time, so that only
  /// the first `period` ranks need be run. All nodes hold as many ranks, in order, and the first
  /// nodes hold just these. Rings and direct exchanges on such nodes have this symmetry.
  int period = 0;

  /// When each rank that is run begins; empty: all at 0.
  std::vector<Seconds> starts{};
};

using ProgramOf = std::function<Program(Rank)>;

struct Forecast {
  Seconds duration{};                     ///< Until the last event.
  std::vector<Seconds> ends{};            ///< When each rank that was run has done its last step.
  std::uint64_t messages = 0;             ///< Sent by the ranks that were run.
  std::uint64_t most_bytes_sent = 0;      ///< By one rank.
  std::uint64_t most_bytes_received = 0;  ///< By one rank.
};

/// The programs have no fault (check.hpp); throws ErrorKind::internal where they do not end.
Forecast simulate(const Simulated& simulated, const ProgramOf& program_of);

}  // namespace fastgpu::comm
