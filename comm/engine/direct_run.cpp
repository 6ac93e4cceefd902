#include "comm/engine/direct_run.hpp"

#include <algorithm>

namespace fastgpu::comm {
namespace {

constexpr std::size_t kMostScratch = 64 << 10;

bool has_message(StepKind kind) noexcept {
  return kind != StepKind::copy && kind != StepKind::reduce;
}

/// Adds what a send or a receive needs. Returns false if its message is too long.
bool add_message(DirectStep& step, const PreparedProgram& prepared, std::size_t element,
                 const Routes& routes) {
  const Step& what = prepared.program.steps[step.step];
  const Part& part = what.kind == StepKind::send ? what.from : what.to;
  step.peer = (*prepared.group)[static_cast<std::size_t>(what.peer.value)];
  const EngineRoute& route = routes.to(step.peer);
  step.transport = route.transport.get();
  step.end_of_tag = first_tag(0, what.lane).value | prepared.number[step.step];
  step.buffer = part.buffer;
  step.begin = part.count > 0 ? part.offset * element : 0;
  step.size = part.count * element;
  const std::size_t most = route.capabilities.most_now;
  return most > 0 && step.size <= most;
}

/// Returns memory of a size that is in `buffer`, which grows where it is too short.
std::span<std::byte> memory_in(std::vector<std::byte>& buffer, std::size_t bytes) {
  if (buffer.size() < bytes) buffer.resize(bytes);
  return std::span(buffer).first(bytes);
}

}  // namespace

std::optional<std::vector<DirectStep>> direct_steps(const PreparedProgram& prepared,
                                                    std::size_t element, const Routes& routes) {
  const Program& program = prepared.program;
  const bool is_in_order = prepared.order.size() == program.steps.size();
  if (prepared.averaging == Averaging::before || !is_in_order ||
      program.scratch * element > kMostScratch)
    return std::nullopt;
  std::vector<DirectStep> steps;
  for (const StepIndex index : prepared.order) {
    const StepKind kind = program.steps[index].kind;
    DirectStep step{.step = index,
                    .kind = kind,
                    .carries_note = prepared.carries_note[index],
                    .is_sum = prepared.is_sum[index]};
    if (has_message(kind) && !add_message(step, prepared, element, routes)) return std::nullopt;
    steps.push_back(step);
  }
  return steps;
}

bool may_gather(const PreparedProgram& prepared, const Routes& routes) {
  if (!prepared.direct || prepared.sends > 0) return false;
  return std::ranges::all_of(*prepared.direct, [&](const DirectStep& step) {
    return !has_message(step.kind) || !routes.to(step.peer).capabilities.is_free_to_poll;
  });
}

DirectRun::DirectRun(const DirectCall& call, std::vector<std::byte>& scratch)
    : call_(call),
      steps_(*call.program.direct),
      scratch_(memory_in(scratch, call.program.program.scratch * size_of(call.reduction.type))),
      memory_(call.program, call.input, call.data, scratch_, call.reduction) {}

bool DirectRun::advance() {
  for (; next_ < steps_.size(); ++next_) {
    const DirectStep& step = steps_[next_];
    if (!run(step)) return false;
    if (step.is_sum) memory_.finish(step.step);
    if (next_ + 1 == steps_.size()) memory_.finish_all();
  }
  return true;
}

bool DirectRun::run(const DirectStep& step) {
  if (step.kind == StepKind::send) return send(step);
  if (step.transport != nullptr) return receive(step);
  memory_.run(call_.program.program.steps[step.step]);
  return true;
}

bool DirectRun::send(const DirectStep& step) {
  const std::span<const std::byte> all =
      step.buffer == Buffer::input ? call_.input : memory_.writable(step.buffer);
  Outgoing message{.peer = step.peer,
                   .tag = {call_.tag_base | step.end_of_tag},
                   .bytes = all.subspan(step.begin, step.size),
                   .note = step.carries_note ? call_.note : nullptr,
                   .is_reduced = is_reduction(call_.kind)};
  return step.transport->send_now(message);
}

bool DirectRun::receive(const DirectStep& step) {
  const std::span<std::byte> all = memory_.writable(step.buffer);
  Incoming message{.peer = step.peer,
                   .tag = {call_.tag_base | step.end_of_tag},
                   .sink = {.memory = all.subspan(step.begin, step.size)}};
  if (step.kind == StepKind::receive_reduce) message.sink.reduction = call_.reduction;
  return step.transport->receive_now(message);
}

}  // namespace fastgpu::comm
