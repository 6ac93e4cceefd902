#include "comm/simulator/simulator.hpp"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/simulator/state.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::uint64_t kQuantum = 65536;           // The bytes that a socket takes at a time.
constexpr std::uint64_t kMostQuanta = 8;            // Bounds the events of one message.
constexpr std::uint64_t kMostQuantaOfSeveral = 32;  // With several networks.
constexpr std::size_t kMostNetworks = 8;

enum class EventKind : std::uint8_t { starts, processed, quantum_left, quantum_comes, arrives };

struct Event {
  Seconds time{};
  std::uint64_t number = 0;  ///< The order among events at one time: the one made first is first.
  EventKind kind{};
  bool is_awaited = false;        ///< True for a quantum whose arrival counts: the last, or each.
  std::uint8_t network = 0;       ///< Set for a quantum: the number of its network.
  std::size_t message = 0;        ///< Set for a quantum: the number of its message in the flow.
  StepIndex step = 0;             ///< Set for processed.
  std::size_t rank = 0;           ///< Set for starts and processed.
  SimulatedFlow* flow = nullptr;  ///< Set for all others.
  std::uint64_t bytes = 0;        ///< Set for a quantum.
  Seconds end{};  ///< Set for an arriving quantum: the earliest time of its last byte.

  bool operator<(const Event& other) const {  // Greater is first in a priority queue.
    return std::tie(other.time, other.number) < std::tie(time, number);
  }
};

class Simulation {
 public:
  Simulation(const Simulated& simulated, const ProgramOf& program_of)
      : network_(simulated.network),
        across_{simulated.network.across},
        element_bytes_(simulated.element_bytes),
        state_(simulated, program_of),
        ends_(simulated.starts) {
    across_.insert(across_.end(), simulated.beside.begin(), simulated.beside.end());
    if (across_.size() > kMostNetworks)
      throw Error(ErrorKind::usage, "nodes have at most 8 networks");
    ends_.resize(state_.ranks.size());
    for (const SimulatedRank& rank : state_.ranks)
      steps_left_ += rank.waits.size();
  }

  Forecast run() {
    for (std::size_t rank = 0; rank < ends_.size(); ++rank)
      schedule({.time = ends_[rank], .kind = EventKind::starts, .rank = rank});
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time;
      handle(event);
    }
    if (steps_left_ > 0) throw Error(ErrorKind::internal, "simulated programs wait for each other");
    return forecast();
  }

 private:
  /// Begins the steps that wait for nothing; the steps that these release begin on their own.
  void start(std::size_t rank) {
    const std::vector<std::uint32_t>& waits = state_.ranks[rank].waits;
    std::vector<StepIndex> first;
    for (StepIndex step = 0; step < waits.size(); ++step)
      if (waits[step] == 0) first.push_back(step);
    for (const StepIndex step : first)
      begin(rank, step);
  }

  void schedule(Event event) {
    event.number = events_made_++;
    events_.push(event);
  }

  std::uint64_t bytes_of(const Part& part) const { return part.count * element_bytes_; }

  void process(std::size_t rank, StepIndex step, Seconds duration) {
    const Seconds begun = state_.ranks[rank].processor.serve(now_, duration);
    schedule({.time = begun + duration, .kind = EventKind::processed, .step = step, .rank = rank});
  }

  void begin(std::size_t rank, StepIndex index) {
    SimulatedRank& state = state_.ranks[rank];
    const Step& step = state.program.steps[index];
    SimulatedFlow* const flow = state.flow[index];
    if (step.kind == StepKind::send) {
      process(rank, index, network_.per_message);
      release_next(rank, flow->sends, ++flow->sends_begun);
    } else if (flow != nullptr) {
      release_next(rank, flow->receives, ++flow->receives_begun);
      take_arrived(*flow);
    } else {
      const Rate rate = step.kind == StepKind::copy ? network_.copy : network_.reduce;
      process(rank, index, rate.to_move(double(bytes_of(step.to))));
    }
  }

  /// Releases the next step of a channel whose first `begun` steps have begun.
  void release_next(std::size_t rank, std::span<const StepIndex> steps, std::size_t begun) {
    if (begun < steps.size()) release(rank, steps[begun]);
  }

  void release(std::size_t rank, StepIndex step) {
    if (--state_.ranks[rank].waits[step] == 0) begin(rank, step);
  }

  void finish(std::size_t rank, StepIndex step) {
    --steps_left_;
    ends_[rank] = now_;
    for (const StepIndex next : state_.ranks[rank].dependencies.after[step])
      release(rank, next);
  }

  /// Hands messages that have arrived to receives that are ready.
  void take_arrived(SimulatedFlow& flow) {
    while (flow.receives_taken < std::min(flow.arrived, flow.receives_begun)) {
      const StepIndex index = flow.receives[flow.receives_taken++];
      const Step& step = state_.ranks[flow.receiver].program.steps[index];
      Seconds duration = network_.per_message;
      if (step.kind == StepKind::receive_reduce)
        duration += network_.reduce.to_move(double(bytes_of(step.to)));
      state_.ranks[flow.receiver].bytes_received += bytes_of(step.to);
      process(flow.receiver, index, duration);
    }
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case EventKind::starts:
        return start(event.rank);
      case EventKind::processed:
        return processed(event.rank, event.step);
      case EventKind::quantum_left:
        return quantum_left(*event.flow, event.network);
      case EventKind::quantum_comes:
        return let_quantum_come(event);
      case EventKind::arrives:
        return quantum_arrived(*event.flow, event.message);
    }
  }

  void processed(std::size_t rank, StepIndex step) {
    SimulatedFlow* const flow = state_.ranks[rank].flow[step];
    if (state_.ranks[rank].program.steps[step].kind != StepKind::send) return finish(rank, step);
    ++flow->sends_queued;
    if (flow->busy == 0) start_message(*flow);
  }

  const Step& current_send(const SimulatedFlow& flow) const {
    return state_.ranks[flow.sender].program.steps[flow.sends[flow.sends_done]];
  }

  void start_message(SimulatedFlow& flow) {
    flow.bytes_left = bytes_of(current_send(flow).from);
    state_.ranks[flow.sender].bytes_sent += flow.bytes_left;
    ++messages_;
    flow.coming.emplace_back();
    const std::uint8_t first = first_network(flow);
    let_quantum_leave(flow, first);
    for (std::uint8_t other = 0; other < networks_of(flow) && flow.bytes_left > 0; ++other)
      if (other != first) let_quantum_leave(flow, other);
  }

  std::size_t networks_of(const SimulatedFlow& flow) const {
    return flow.is_inside ? 1 : across_.size();
  }

  const NetworkLink& link_of(const SimulatedFlow& flow, std::uint8_t network) const {
    return flow.is_inside ? network_.inside : across_[network];
  }

  Server& way_out(const SimulatedFlow& flow, std::uint8_t network) {
    SimulatedNode& node = state_.node_of(flow.sender);
    return flow.is_inside ? node.memory : node.out[network];
  }

  /// Returns the most bytes of a quantum of the message on its way.
  std::uint64_t quantum_of(const SimulatedFlow& flow) const {
    const std::uint64_t quanta = networks_of(flow) == 1 ? kMostQuanta : kMostQuantaOfSeveral;
    return std::max(kQuantum, (bytes_of(current_send(flow).from) + quanta - 1) / quanta);
  }

  /// Returns the network that brings the first quantum of a message first.
  std::uint8_t first_network(const SimulatedFlow& flow) {
    const auto bytes = double(std::min(flow.bytes_left, quantum_of(flow)));
    const auto arrival = [&](std::uint8_t network) {
      const NetworkLink& link = link_of(flow, network);
      const Seconds begun = way_out(flow, network).next(now_);
      return std::max(now_ + link.flow.to_move(bytes), begun + link.shared.to_move(bytes)) +
             link.latency;
    };
    std::uint8_t first = 0;
    const auto networks = static_cast<std::uint8_t>(networks_of(flow));
    for (std::uint8_t other = 1; other < networks; ++other)
      if (arrival(other) < arrival(first)) first = other;
    return first;
  }

  /// Sends a quantum, which uses up the time of its flow while it queues, so that flows that fill
  /// their link together end together.
  void let_quantum_leave(SimulatedFlow& flow, std::uint8_t network) {
    const NetworkLink& link = link_of(flow, network);
    const std::uint64_t bytes = std::min(flow.bytes_left, quantum_of(flow));
    flow.bytes_left -= bytes;
    flow.busy |= 1U << network;
    const Seconds alone = link.shared.to_move(double(bytes));
    const Seconds begun = way_out(flow, network).serve(now_, alone);
    const Seconds left = std::max(now_ + link.flow.to_move(double(bytes)), begun + alone);
    schedule({.time = left, .kind = EventKind::quantum_left, .network = network, .flow = &flow});
    const bool is_last = flow.bytes_left == 0;
    const bool is_awaited = is_last || networks_of(flow) > 1;
    SimulatedFlow::Coming& message = flow.coming.back();
    if (is_awaited) ++message.quanta;
    message.has_left = is_last;
    if (!flow.is_inside)
      schedule({.time = begun + link.latency,
                .kind = EventKind::quantum_comes,
                .is_awaited = is_awaited,
                .network = network,
                .message = flow.sends_done,
                .flow = &flow,
                .bytes = bytes,
                .end = left + link.latency});
    if (flow.is_inside && is_last)
      schedule({.time = left + link.latency,
                .kind = EventKind::arrives,
                .message = flow.sends_done,
                .flow = &flow});
  }

  void quantum_left(SimulatedFlow& flow, std::uint8_t network) {
    if (flow.bytes_left > 0) return let_quantum_leave(flow, network);
    flow.busy &= ~(1U << network);
    if (flow.busy != 0) return;  // Other networks send the rest.
    const StepIndex done = flow.sends[flow.sends_done++];
    if (flow.sends_done < flow.sends_queued) start_message(flow);
    finish(flow.sender, done);
  }

  void let_quantum_come(const Event& event) {
    SimulatedFlow& flow = *event.flow;
    const Seconds alone = across_[event.network].shared.to_move(double(event.bytes));
    const Seconds begun = state_.node_of(flow.receiver).in[event.network].serve(now_, alone);
    if (event.is_awaited)
      schedule({.time = std::max(event.end, begun + alone),
                .kind = EventKind::arrives,
                .message = event.message,
                .flow = &flow});
  }

  /// Messages arrive in their order: the next one waits for the last quantum before it.
  void quantum_arrived(SimulatedFlow& flow, std::size_t message) {
    --flow.coming[message - flow.arrived].quanta;
    const auto is_there = [](const SimulatedFlow::Coming& each) {
      return each.has_left && each.quanta == 0;
    };
    const auto left = std::ranges::find_if_not(flow.coming, is_there);
    flow.arrived += static_cast<std::size_t>(left - flow.coming.begin());
    flow.coming.erase(flow.coming.begin(), left);
    take_arrived(flow);
  }

  Forecast forecast() const {
    Forecast result{.duration = now_, .ends = ends_, .messages = messages_};
    for (const SimulatedRank& rank : state_.ranks) {
      result.most_bytes_sent = std::max(result.most_bytes_sent, rank.bytes_sent);
      result.most_bytes_received = std::max(result.most_bytes_received, rank.bytes_received);
    }
    return result;
  }

  NetworkModel network_;
  std::vector<NetworkLink> across_;  ///< The networks between nodes.
  std::uint64_t element_bytes_;
  SimulationState state_;
  std::vector<Seconds> ends_;  ///< Each rank's end so far; at first, its start.
  std::priority_queue<Event> events_;
  std::uint64_t events_made_ = 0;
  std::size_t steps_left_ = 0;
  std::uint64_t messages_ = 0;
  Seconds now_{};
};

}  // namespace

Forecast simulate(const Simulated& simulated, const ProgramOf& program_of) {
  return Simulation(simulated, program_of).run();
}

}  // namespace fastgpu::comm
