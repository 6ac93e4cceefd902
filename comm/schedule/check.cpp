#include "comm/schedule/check.hpp"

#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "comm/schedule/dependencies.hpp"

namespace fastgpu::comm {
namespace {

using Fault = std::optional<std::string>;

std::string step_name(std::size_t rank, std::size_t step) {
  return "rank " + std::to_string(rank) + ", step " + std::to_string(step);
}

bool moves_between_ranks(const Step& step) {
  return step.kind != StepKind::copy && step.kind != StepKind::reduce;
}

Fault find_fault_in(const Step& step, std::size_t rank, std::size_t ranks,
                    const std::array<std::uint64_t, 3>& sizes) {
  for (const Part& part : {step.from, step.to}) {
    const std::uint64_t size = sizes.at(std::size_t(part.buffer));
    if (part.count > size || part.offset > size - part.count)
      return "elements " + std::to_string(part.offset) + " to " +
             std::to_string(part.offset + part.count) + " of a buffer of " + std::to_string(size);
  }
  const Part written = written_by(step);
  if (written.count > 0 && written.buffer == Buffer::input) return "writes input";
  if (!moves_between_ranks(step) && step.from.count != step.to.count)
    return std::to_string(step.from.count) + " elements to " + std::to_string(step.to.count);
  const auto peer = static_cast<std::size_t>(step.peer.value);
  if (moves_between_ranks(step) && (step.peer.value < 0 || peer >= ranks || peer == rank))
    return "peer " + std::to_string(step.peer.value) + " of " + std::to_string(ranks) + " ranks";
  return {};
}

/// All steps of all programs, numbered through, with their order. A send and its receive are one
/// node.
class Graph {
 public:
  explicit Graph(std::span<const Program> programs) : programs_(programs) {
    std::size_t steps = 0;
    for (const Program& program : programs) {
      firsts_.push_back(steps);
      steps += program.steps.size();
      dependencies_.push_back(dependencies_of(program));
    }
    node_of_.resize(steps);
    for (std::size_t step = 0; step < steps; ++step)
      node_of_[step] = step;
  }

  /// Makes one node of each send and its receive.
  Fault match() {
    std::map<std::tuple<std::size_t, int, std::uint8_t>, std::span<const StepIndex>> sends;
    for_each_channel([&](std::size_t rank, const Channel& channel, auto steps) {
      if (channel.direction == Direction::out)
        sends[{rank, channel.peer.value, channel.lane}] = steps;
    });
    Fault fault;
    for_each_channel([&](std::size_t rank, const Channel& channel, auto steps) {
      if (channel.direction == Direction::out || fault) return;
      const auto sender = static_cast<std::size_t>(channel.peer.value);
      auto& matching = sends[{sender, static_cast<int>(rank), channel.lane}];
      fault = match(sender, matching, rank, steps);
      matching = {};
    });
    for (const auto& [from, steps] : sends)
      if (!fault && !steps.empty())
        fault = step_name(std::get<0>(from), steps.front()) + ": no rank receives it";
    return fault;
  }

  /// Removes nodes that wait for nothing, until all are gone or the rest wait in a circle.
  Fault find_deadlock() const {
    std::vector<std::vector<std::size_t>> after(node_of_.size());
    std::vector<std::size_t> waits(node_of_.size(), 0);
    for_each_edge([&](std::size_t from, std::size_t to) {
      after[from].push_back(to);
      ++waits[to];
    });
    std::vector<std::size_t> ready;
    for (std::size_t node = 0; node < waits.size(); ++node)
      if (waits[node] == 0) ready.push_back(node);
    while (!ready.empty()) {
      const std::size_t node = ready.back();
      ready.pop_back();
      for (const std::size_t next : after[node])
        if (--waits[next] == 0) ready.push_back(next);
    }
    for (std::size_t rank = 0; rank < programs_.size(); ++rank)
      for (std::size_t step = 0; step < programs_[rank].steps.size(); ++step)
        if (waits[node_of_[firsts_[rank] + step]] > 0)
          return step_name(rank, step) + ": waits for itself";
    return {};
  }

 private:
  template <class Visit>
  void for_each_channel(Visit visit) const {
    for (std::size_t rank = 0; rank < programs_.size(); ++rank) {
      const Dependencies& own = dependencies_[rank];
      for (std::size_t channel = 0; channel < own.channels.size(); ++channel)
        visit(rank, own.channels[channel], own.on_channel[channel]);
    }
  }

  template <class Visit>
  void for_each_edge(Visit visit) const {
    for (std::size_t rank = 0; rank < programs_.size(); ++rank)
      for (std::size_t step = 0; step < programs_[rank].steps.size(); ++step)
        for (const StepIndex earlier : dependencies_[rank].before[step])
          visit(node_of_[firsts_[rank] + earlier], node_of_[firsts_[rank] + step]);
    for_each_channel([&](std::size_t rank, const Channel&, std::span<const StepIndex> steps) {
      for (std::size_t i = 1; i < steps.size(); ++i)
        visit(node_of_[firsts_[rank] + steps[i - 1]], node_of_[firsts_[rank] + steps[i]]);
    });
  }

  Fault match(std::size_t sender, std::span<const StepIndex> sends, std::size_t receiver,
              std::span<const StepIndex> receives) {
    for (std::size_t i = 0; i < receives.size(); ++i) {
      if (i >= sends.size()) return step_name(receiver, receives[i]) + ": no rank sends it";
      const std::uint64_t sent = programs_[sender].steps[sends[i]].from.count;
      const std::uint64_t received = programs_[receiver].steps[receives[i]].to.count;
      if (sent != received)
        return step_name(receiver, receives[i]) + ": receives " + std::to_string(received) +
               " elements, but " + step_name(sender, sends[i]) + " sends " + std::to_string(sent);
      node_of_[firsts_[receiver] + receives[i]] = firsts_[sender] + sends[i];
    }
    if (sends.size() > receives.size())
      return step_name(sender, sends[receives.size()]) + ": no rank receives it";
    return {};
  }

  std::span<const Program> programs_;
  std::vector<Dependencies> dependencies_;
  std::vector<std::size_t> firsts_;   ///< The number of each rank's first step.
  std::vector<std::size_t> node_of_;  ///< The node of each step.
};

}  // namespace

std::optional<std::string> find_fault(std::span<const Program> programs, const BufferSizes& sizes) {
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    const Program& program = programs[rank];
    for (std::size_t step = 0; step < program.steps.size(); ++step)
      if (const Fault fault = find_fault_in(program.steps[step], rank, programs.size(),
                                            {sizes.data, sizes.input, program.scratch}))
        return step_name(rank, step) + ": " + *fault;
  }
  Graph graph(programs);
  if (const Fault fault = graph.match()) return fault;
  return graph.find_deadlock();
}

}  // namespace fastgpu::comm
