#include "comm/engine/operation.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "comm/kernels/copy.hpp"

namespace fastgpu::comm {

std::string describe(const Work& work) {
  const std::string call = describe(work.call);
  return work.part_of == nullptr ? call : std::string(work.part_of) + " (" + call + ")";
}

namespace {

/// The memory and the steps of the operations that are worth keeping: those of small messages.
constexpr std::size_t kSmallBytes = 64 << 10;
constexpr std::size_t kFewSteps = 64;

}  // namespace

// ---- the memory of steps ----

std::span<std::byte> StepMemory::bytes(const Part& part) const {
  assert(part.buffer != Buffer::input);  // Programs do not write what is only read.
  return writable(part.buffer).subspan(part.offset * element_, part.count * element_);
}

std::span<const std::byte> StepMemory::readable(const Part& part) const {
  if (part.buffer != Buffer::input) return bytes(part);
  return input_.subspan(part.offset * element_, part.count * element_);
}

void StepMemory::run(const Step& step) const {
  // An own block is a part of what goes through the caches in the call: all that is written was
  // read before.
  if (step.kind == StepKind::copy)
    return copy_bytes(bytes(step.to), readable(step.from), 2 * writable(step.to.buffer).size());
  MessageSink sink{.memory = bytes(step.to)};
  sink.reduction = reduction_;
  sink.take(0, readable(step.from));
}

void StepMemory::finish(StepIndex step) const {
  if (!program_.is_sum[step]) return;
  comm::finish(bytes(program_.program.steps[step].to), reduction_,
               static_cast<int>(program_.group->size()));
}

void StepMemory::finish_all() const {
  if (program_.averaging == Averaging::at_end)
    comm::finish(data_, reduction_, static_cast<int>(program_.group->size()));
}

MessageTag tag_of(const Work& work, StepIndex step) noexcept {
  const MessageTag first = first_tag(work.tag_base, work.program->program.steps[step].lane);
  return {first.value | work.program->number[step]};
}

// ---- operations ----

void Operation::reset(Work work) {
  work_ = std::move(work);
  const PreparedProgram& prepared = *work_.program;
  const StepLists& before = prepared.dependencies.before;
  left_ = prepared.program.steps.size();
  scratch_.resize(prepared.program.scratch * size_of(work_.reduction.type));
  sendings_.assign(prepared.sends, {});
  receivings_.assign(prepared.receives, {});
  is_on_its_way_.assign(left_, false);
  waits_for_.clear();
  ready_.clear();
  next_ready_ = 0;
  failure_.reset();
  seen_moved = 0;
  next_warning = {};
  ready_.reserve(left_);
  waits_for_.reserve(left_);
  for (StepIndex step = 0; step < left_; ++step) {
    waits_for_.push_back(static_cast<std::uint32_t>(before[step].size()));
    if (waits_for_.back() == 0) ready_.push_back(step);
  }
  if (work_.offloaded) left_ = 1;
  if (prepared.averaging == Averaging::before) divide();
}

void Operation::skip(std::span<const StepIndex> steps, std::span<const std::byte> scratch) {
  std::ranges::copy(scratch, scratch_.begin());
  for (const StepIndex step : steps)
    for (const StepIndex after : work_.program->dependencies.after[step])
      if (--waits_for_[after] == 0) ready_.push_back(after);
  std::erase_if(ready_,
                [&](StepIndex step) { return std::ranges::find(steps, step) != steps.end(); });
  left_ -= steps.size();
}

bool Operation::is_small() const noexcept {
  return work_.offloaded == nullptr && sendings_.size() + receivings_.size() <= kFewSteps &&
         scratch_.capacity() + divided_.capacity() <= kSmallBytes;
}

/// Divides this rank's part of an average, in a copy if the input is separate.
void Operation::divide() {
  const int ranks = static_cast<int>(work_.program->group->size());
  if (work_.input.empty()) return finish(work_.data, work_.reduction, ranks);
  divided_.assign(work_.input.begin(), work_.input.end());
  finish(divided_, work_.reduction, ranks);
  work_.input = divided_;
}

std::optional<StepIndex> Operation::next() noexcept {
  if (next_ready_ == ready_.size()) return std::nullopt;
  return ready_[next_ready_++];
}

Sending& Operation::sending(StepIndex step) {
  const Step& what = work_.program->program.steps[step];
  Sending& sending = sendings_[work_.program->transfer[step]];
  sending.peer = world_rank(what.peer);
  sending.tag = tag_of(work_, step);
  sending.bytes = memory().readable(what.from);
  sending.priority = work_.priority;
  sending.is_reduced = is_reduction(work_.call.kind);
  sending.same_messages = work_.program->same_sends[step];
  sending.note = work_.note && work_.program->carries_note[step] ? &*work_.note : nullptr;
  sending.operation = this;
  sending.step = step;
  is_on_its_way_[step] = true;
  return sending;
}

Receiving& Operation::receiving(StepIndex step) {
  const Step& what = work_.program->program.steps[step];
  Receiving& receiving = receivings_[work_.program->transfer[step]];
  receiving.peer = world_rank(what.peer);
  receiving.tag = tag_of(work_, step);
  receiving.sink.memory = memory().bytes(what.to);
  if (what.kind == StepKind::receive_reduce) receiving.sink.reduction = work_.reduction;
  receiving.sink.was_read_by_others = work_.program->was_read_by_others[step];
  receiving.operation = this;
  receiving.step = step;
  is_on_its_way_[step] = true;
  return receiving;
}

void Operation::run(StepIndex step) {
  memory().run(work_.program->program.steps[step]);
}

void Operation::finished(StepIndex step) {
  is_on_its_way_[step] = false;
  memory().finish(step);
  for (const StepIndex after : work_.program->dependencies.after[step])
    if (--waits_for_[after] == 0) ready_.push_back(after);
  if (--left_ == 0) memory().finish_all();
}

void Operation::finished_offloaded() {
  left_ = 0;
  finish(work_.data, work_.reduction, static_cast<int>(work_.program->group->size()));
}

std::vector<Pending> Operation::pending() const {
  std::vector<Pending> result;
  const auto add_if = [&](const auto& message, bool is_receive) {
    if (message.operation != nullptr && is_on_its_way_[message.step])
      result.push_back({message.peer, is_receive, message.moved});
  };
  for (const Receiving& message : receivings_)
    add_if(message, true);
  for (const Sending& message : sendings_)
    add_if(message, false);
  return result;
}

}  // namespace fastgpu::comm
