#include "comm/engine/prepared.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/error.hpp"

namespace fastgpu::comm {
namespace {

/// The stretches of the data that later steps write.
class Written {
 public:
  std::uint64_t covered(std::uint64_t begin, std::uint64_t end) const {
    std::uint64_t sum = 0;
    auto at = ends_.upper_bound(begin);
    if (at != ends_.begin()) --at;
    for (; at != ends_.end() && at->first < end; ++at)
      if (at->second > begin) sum += std::min(end, at->second) - std::max(begin, at->first);
    return sum;
  }

  void add(std::uint64_t begin, std::uint64_t end) {
    auto at = ends_.upper_bound(begin);
    if (at != ends_.begin() && std::prev(at)->second >= begin) --at;
    while (at != ends_.end() && at->first <= end) {
      begin = std::min(begin, at->first);
      end = std::max(end, at->second);
      at = ends_.erase(at);
    }
    ends_.emplace(begin, end);
  }

 private:
  /// Stretches by their begin; apart from each other.
  std::map<std::uint64_t, std::uint64_t> ends_;
};

}  // namespace

PreparedProgram::PreparedProgram(Program program_to_run, Averaging averaging_of_plan, Group ranks)
    : program(std::move(program_to_run)),
      group(std::move(ranks)),
      dependencies(dependencies_of(program)),
      averaging(averaging_of_plan) {
  number_messages();
  find_what_others_read();
  count_same_sends();
  if (program.steps.size() <= kMostInOrder) find_order();
  is_sum.resize(program.steps.size());
  if (averaging == Averaging::of_sums) find_sums();
}

void PreparedProgram::number_messages() {
  number.resize(program.steps.size());
  for (std::size_t c = 0; c < dependencies.channels.size(); ++c) {
    const auto steps = dependencies.on_channel[c];
    if (steps.size() > kMostOnChannel)
      throw Error(ErrorKind::usage, "a program has " + std::to_string(steps.size()) +
                                        " messages on one channel, and there may be " +
                                        std::to_string(kMostOnChannel));
    for (std::uint32_t i = 0; i < steps.size(); ++i)
      number[steps[i]] = i;
  }
  carries_note.resize(program.steps.size());
  transfer.resize(program.steps.size());
  std::set<Rank> notified;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    const bool is_receive = step.kind == StepKind::receive || step.kind == StepKind::receive_reduce;
    if (step.kind == StepKind::send) {
      transfer[i] = sends++;
      carries_note[i] = notified.insert(step.peer).second;
    } else if (is_receive) {
      transfer[i] = receives++;
    }
  }
}

/// A receive waits for the sends of what it overwrites.
void PreparedProgram::find_what_others_read() {
  was_read_by_others.resize(program.steps.size());
  for (std::size_t i = 0; i < program.steps.size(); ++i)
    was_read_by_others[i] = program.steps[i].kind == StepKind::receive &&
                            std::ranges::any_of(dependencies.before[i], [&](StepIndex before) {
                              return program.steps[before].kind == StepKind::send;
                            });
}

void PreparedProgram::count_same_sends() {
  const auto key_of = [](const Part& part) {
    return std::tuple(part.buffer, part.offset, part.count);
  };
  std::map<std::tuple<Buffer, std::uint64_t, std::uint64_t>, std::uint32_t> sends_of;
  for (const Step& step : program.steps)
    if (step.kind == StepKind::send) ++sends_of[key_of(step.from)];
  for (const Step& step : program.steps)
    same_sends.push_back(step.kind == StepKind::send ? sends_of[key_of(step.from)] : 0);
}

/// Receives keep the order of the program, which no rank waits in for ever; the other steps go as
/// early as they can.
void PreparedProgram::find_order() {
  const auto is_receive = [&](StepIndex step) {
    const StepKind kind = program.steps[step].kind;
    return kind == StepKind::receive || kind == StepKind::receive_reduce;
  };
  std::vector<std::size_t> waits_for;
  std::deque<StepIndex> ready;
  const auto end = [&](StepIndex ended) {
    order.push_back(ended);
    for (const StepIndex after : dependencies.after[ended])
      if (--waits_for[after] == 0 && !is_receive(after)) ready.push_back(after);
  };
  const auto end_ready = [&] {
    for (; !ready.empty(); ready.pop_front())
      end(ready.front());
  };
  for (StepIndex step = 0; step < program.steps.size(); ++step) {
    waits_for.push_back(dependencies.before[step].size());
    if (waits_for[step] == 0 && !is_receive(step)) ready.push_back(step);
  }
  end_ready();
  for (StepIndex step = 0; step < program.steps.size(); ++step) {
    if (!is_receive(step)) continue;
    end(step);
    end_ready();
  }
}

/// Finds the sums that are whole, because no later step writes to their place.
void PreparedProgram::find_sums() {
  Written later;
  for (std::size_t i = program.steps.size(); i-- > 0;) {
    const Part& to = program.steps[i].to;
    if (program.steps[i].kind == StepKind::send || to.count == 0) continue;
    const std::uint64_t covered = later.covered(to.offset, to.offset + to.count);
    const bool is_reduction = program.steps[i].kind == StepKind::receive_reduce;
    is_sum[i] = is_reduction && covered == 0;
    const bool is_clear = covered == 0 || covered == to.count;
    if (to.buffer != Buffer::data || (is_reduction && !is_clear))
      throw Error(ErrorKind::internal, "an average of sums that cannot be told from halves");
    later.add(to.offset, to.offset + to.count);
  }
}

}  // namespace fastgpu::comm
