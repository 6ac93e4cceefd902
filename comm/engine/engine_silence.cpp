// What the engine makes of ranks from which nothing comes.
#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "base/units.hpp"
#include "comm/engine/engine.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// For a rank to say that it waits too.
constexpr auto kLeastGrace = 100ms;

}  // namespace

void Engine::check_silence() {
  try {
    for (const auto& operation : active_)
      check_silence_of(*operation);
  } catch (const Error& e) {
    fail(e);
  }
}

void Engine::check_silence_of(Operation& operation) {
  const auto now = std::chrono::steady_clock::now();
  const auto pending = operation.pending();
  std::size_t moved = operation.work().program->program.steps.size() - operation.steps_left();
  for (const Pending& message : pending)
    moved += message.moved;
  if (moved != operation.seen_moved) {
    operation.seen_moved = moved;
    operation.seen_at = now;
    asked_.clear();
    answered_.clear();
  }
  const auto silence =
      std::chrono::duration_cast<std::chrono::milliseconds>(now - operation.seen_at);
  if (silence >= timeout_ && !pending.empty()) ask_and_accuse(operation, silence);
  if (silence >= timeout_ && operation.work().whole) accuse_whole(operation);
}

/// A rank that waits itself is not to blame: it is believed until whoever it waits for has been
/// silent long enough for it, too. Its wait began before it would have been accused.
void Engine::ask_and_accuse(const Operation& operation, std::chrono::milliseconds silence) {
  const auto grace = std::max<std::chrono::milliseconds>(timeout_ / 8, kLeastGrace);
  const auto pending = operation.pending();
  for (const Pending& message : pending)
    if (asked_.insert(message.peer).second) network_->say(message.peer, FrameKind::question);
  if (silence < timeout_ + grace) return;
  auto culprit = std::ranges::find_if(
      pending, [&](const Pending& message) { return !answered_.contains(message.peer); });
  if (culprit == pending.end() && silence < 2 * (timeout_ + grace)) return;
  if (culprit == pending.end()) culprit = pending.begin();
  throw Error(ErrorKind::transient,
              "rank " + std::to_string(culprit->peer.value) +
                  (culprit->is_receive ? " sent nothing for " : " took nothing for ") +
                  to_string(timeout_));
}

void Engine::accuse_whole(const Operation& operation) const {
  for (const Rank peer : *operation.work().group)
    if (const auto& lost = lost_[static_cast<std::size_t>(peer.value)]) throw Error(*lost);
  throw Error(ErrorKind::transient, "MPI has not ended it within " + to_string(timeout_) +
                                        ": a rank is late, stuck, or in another call");
}

}  // namespace fastgpu::comm
