#include "comm/simulator/state.hpp"

#include <map>
#include <tuple>
#include <utility>

#include "base/error.hpp"

namespace fastgpu::comm {
namespace {

/// FlowsByReceiver by receiver, sender as the receiver sees it, and lane.
using FlowsByReceiver = std::map<std::tuple<std::size_t, int, std::uint8_t>, SimulatedFlow*>;

void load(SimulatedRank& state, Program program) {
  state.program = std::move(program);
  state.dependencies = dependencies_of(state.program);
  const std::size_t steps = state.program.steps.size();
  state.flow.resize(steps);
  for (std::size_t step = 0; step < steps; ++step)
    state.waits.push_back(static_cast<std::uint32_t>(state.dependencies.before[step].size()));
}

/// Lets each step but the first of a channel wait for the one ahead to begin, too.
void chain(SimulatedRank& state, std::span<const StepIndex> steps, SimulatedFlow& flow) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    state.flow[steps[i]] = &flow;
    if (i > 0) ++state.waits[steps[i]];
  }
}

/// Makes a flow of each outgoing channel. A receiver that is not run is replaced by the rank that
/// it is like; seen from there, the sender is as far away.
void connect_sends(std::size_t rank, SimulationState& all, FlowsByReceiver& flows) {
  SimulatedRank& state = all.ranks[rank];
  const int ranks = static_cast<int>(all.node_numbers.size());
  const int period = static_cast<int>(all.ranks.size());
  for (std::size_t i = 0; i < state.dependencies.channels.size(); ++i) {
    const auto [peer, lane, direction] = state.dependencies.channels[i];
    if (direction == Direction::in) continue;
    const int like = peer.value % period;
    const int seen_as = (static_cast<int>(rank) + ranks - (peer.value - like)) % ranks;
    SimulatedFlow& flow = all.flows.emplace_back();
    flow.sender = rank;
    flow.receiver = static_cast<std::size_t>(like);
    flow.sends = state.dependencies.on_channel[i];
    flow.is_inside =
        all.node_numbers[rank] == all.node_numbers[static_cast<std::size_t>(peer.value)];
    flows[{flow.receiver, seen_as, lane}] = &flow;
    chain(state, flow.sends, flow);
  }
}

void connect_receives(std::size_t rank, SimulationState& all, const FlowsByReceiver& flows) {
  SimulatedRank& state = all.ranks[rank];
  for (std::size_t i = 0; i < state.dependencies.channels.size(); ++i) {
    const auto [peer, lane, direction] = state.dependencies.channels[i];
    if (direction == Direction::out) continue;
    const auto found = flows.find({rank, peer.value, lane});
    if (found == flows.end()) throw Error(ErrorKind::internal, "a receive without its send");
    found->second->receives = state.dependencies.on_channel[i];
    chain(state, found->second->receives, *found->second);
  }
}

}  // namespace

SimulationState::SimulationState(const Simulated& simulated, const ProgramOf& program_of)
    : nodes(simulated.topology.nodes.size()) {
  for (SimulatedNode& node : nodes) {
    node.out.resize(1 + simulated.beside.size());
    node.in.resize(1 + simulated.beside.size());
  }
  const int all = simulated.topology.ranks();
  node_numbers.resize(static_cast<std::size_t>(all));
  for (std::size_t node = 0; node < nodes.size(); ++node)
    for (const Rank rank : simulated.topology.nodes[node])
      node_numbers[static_cast<std::size_t>(rank.value)] = node;
  ranks.resize(static_cast<std::size_t>(simulated.period > 0 ? simulated.period : all));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    load(ranks[rank], program_of(Rank{static_cast<int>(rank)}));
  FlowsByReceiver connected;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    connect_sends(rank, *this, connected);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    connect_receives(rank, *this, connected);
}

}  // namespace fastgpu::comm
