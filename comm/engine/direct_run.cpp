#include "comm/engine/direct_run.hpp"

#include <algorithm>

namespace fastgpu::comm {
namespace {

constexpr std::size_t kMostScratch = 64 << 10;

bool has_message(const Step& step) noexcept {
  return step.kind != StepKind::copy && step.kind != StepKind::reduce;
}

Rank world_rank(const Work& work, Rank rank) {
  return (*work.program->group)[static_cast<std::size_t>(rank.value)];
}

/// Returns memory of a size that is in `buffer`, which grows where it is too short.
std::span<std::byte> memory_in(std::vector<std::byte>& buffer, std::size_t bytes) {
  if (buffer.size() < bytes) buffer.resize(bytes);
  return std::span(buffer).first(bytes);
}

std::size_t scratch_bytes(const Work& work) {
  return work.program->program.scratch * size_of(work.reduction.type);
}

}  // namespace

bool DirectRun::suits(const Work& work, const Routes& routes) {
  const PreparedProgram& prepared = *work.program;
  const std::vector<Step>& steps = prepared.program.steps;
  if (work.offloaded || work.is_courtesy || prepared.averaging == Averaging::before ||
      steps.size() != prepared.order.size() || scratch_bytes(work) > kMostScratch)
    return false;
  const std::size_t element = size_of(work.reduction.type);
  return std::ranges::all_of(steps, [&](const Step& step) {
    if (!has_message(step)) return true;
    const Part& part = step.kind == StepKind::send ? step.from : step.to;
    const std::size_t most = routes.to(world_rank(work, step.peer)).capabilities.most_now;
    return most > 0 && part.count * element <= most;
  });
}

DirectRun::DirectRun(const Work& work, const Routes& routes, std::vector<std::byte>& scratch)
    : work_(work),
      routes_(routes),
      scratch_(memory_in(scratch, scratch_bytes(work))),
      memory_(work, scratch_) {
  if (work.has_note) note_ = encode(work.call);
}

bool DirectRun::advance() {
  const std::vector<StepIndex>& order = work_.program->order;
  for (; next_ < order.size(); ++next_) {
    if (!run(order[next_])) return false;
    memory_.finish(order[next_]);
    if (next_ + 1 == order.size()) memory_.finish_all();
  }
  return true;
}

bool DirectRun::run(StepIndex step) {
  const Step& what = work_.program->program.steps[step];
  if (what.kind == StepKind::send) return send(step);
  if (has_message(what)) return receive(step);
  memory_.run(what);
  return true;
}

bool DirectRun::send(StepIndex step) {
  const Step& what = work_.program->program.steps[step];
  Outgoing message{.peer = world_rank(work_, what.peer),
                   .tag = tag_of(work_, step),
                   .bytes = memory_.readable(what.from),
                   .is_reduced = is_reduction(work_.call.kind)};
  if (work_.has_note && work_.program->carries_note[step]) message.note = &note_;
  return routes_.to(message.peer).transport->send_now(message);
}

bool DirectRun::receive(StepIndex step) {
  const Step& what = work_.program->program.steps[step];
  Incoming message{.peer = world_rank(work_, what.peer),
                   .tag = tag_of(work_, step),
                   .sink = {.memory = memory_.bytes(what.to)}};
  if (what.kind == StepKind::receive_reduce) message.sink.reduction = work_.reduction;
  return routes_.to(message.peer).transport->receive_now(message);
}

}  // namespace fastgpu::comm
