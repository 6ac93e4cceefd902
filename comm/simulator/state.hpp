// The state that a simulation keeps of ranks, nodes and the flows between them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "comm/schedule/dependencies.hpp"
#include "comm/simulator/simulated.hpp"

namespace fastgpu::comm {

/// A server of one request after another.
class Server {
 public:
  /// Returns the time at which a request that arrives at `now` is begun.
  Seconds serve(Seconds now, Seconds duration) {
    const Seconds begin = std::max(now, free_at_);
    free_at_ = begin + duration;
    return begin;
  }

  /// Returns the time at which a request that arrives at `now` would be begun.
  Seconds next(Seconds now) const noexcept { return std::max(now, free_at_); }

 private:
  Seconds free_at_{};
};

/// The messages that go one way on one lane between two ranks, in the order of the sender's steps,
/// and their progress.
struct SimulatedFlow {
  std::size_t sender = 0;
  std::size_t receiver = 0;
  std::span<const StepIndex> sends;
  std::span<const StepIndex> receives;
  bool is_inside = false;
  std::uint32_t busy = 0;        ///< A bit for each network that sends the message on its way.
  std::size_t sends_begun = 0;   ///< Handed to the sender's processor.
  std::size_t sends_queued = 0;  ///< Handed to the network.
  std::size_t sends_done = 0;    ///< Messages whose last bytes have left.
  std::uint64_t bytes_left = 0;  ///< Bytes of the message on its way.
  /// A message that has not arrived.
  struct Coming {
    std::uint32_t quanta = 0;  ///< Quanta that have left, and that must arrive.
    bool has_left = false;     ///< All of it has left.
  };
  std::vector<Coming> coming;      ///< Messages that have begun, and have not arrived.
  std::size_t arrived = 0;         ///< Messages that have arrived.
  std::size_t receives_begun = 0;  ///< Receives that are ready to take their message.
  std::size_t receives_taken = 0;  ///< Handed to the receiver's processor.
};

struct SimulatedRank {
  Program program;
  Dependencies dependencies;
  std::vector<std::uint32_t> waits;  ///< The number of steps that each step waits for.
  std::vector<SimulatedFlow*> flow;  ///< The flow of each step; null for those within the rank.
  Server processor;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};

struct SimulatedNode {
  std::vector<Server> out;  ///< The ways out, by network.
  std::vector<Server> in;
  Server memory;
};

/// The state of a simulation; at first, before the beginning.
struct SimulationState {
  /// Loads the programs and connects their flows. Throws ErrorKind::internal if a receive has no
  /// channel that sends to it.
  SimulationState(const Simulated& simulated, const ProgramOf& program_of);
  SimulationState(const SimulationState&) = delete;  // FlowsByReceiver point into it.
  SimulationState& operator=(const SimulationState&) = delete;

  SimulatedNode& node_of(std::size_t rank) { return nodes[node_numbers[rank]]; }

  std::vector<SimulatedRank> ranks;
  std::vector<SimulatedNode> nodes;
  /// The node of each rank, including those that are not run.
  std::vector<std::size_t> node_numbers;
  std::deque<SimulatedFlow> flows;  // Does not move its elements.
};

}  // namespace fastgpu::comm
