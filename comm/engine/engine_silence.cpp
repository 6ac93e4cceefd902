// What the engine makes of ranks from which nothing comes.
#include <algorithm>
#include <array>
#include <string>

#include "base/error.hpp"
#include "base/units.hpp"
#include "comm/common/wire.hpp"
#include "comm/engine/engine.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// For a rank to say that it waits too.
constexpr std::chrono::milliseconds kLeastGrace = 100ms;
constexpr std::chrono::milliseconds kMostGrace = 10s;

/// At most between two looks at what is not acknowledged, where the second confirms the first.
constexpr std::chrono::milliseconds kBetweenLooks = 5s;

/// Between two rounds of questions.
constexpr std::chrono::milliseconds kFirstRound = 1s;
constexpr std::chrono::milliseconds kLongestRound = 16s;

std::string describe_wait(const Work& work) {
  const std::string call = describe(work.call);
  return work.part_of == nullptr ? call : std::string(work.part_of) + " (" + call + ")";
}

}  // namespace

void Engine::check_silence() {
  try {
    const auto now = std::chrono::steady_clock::now();
    look_for_dead_end(now);
    check_reachable(now);
    for (const auto& operation : active_)
      check_silence_of(*operation);
  } catch (const Error& e) {
    fail(e);
  }
}

// ---- ranks that wait for each other ----

std::uint64_t Engine::moved() const {
  std::uint64_t moved = finished_steps_;
  for (const auto& operation : active_)
    for (const Pending& message : operation->pending())
      moved += message.moved;
  return moved;
}

WaitReport Engine::report(std::uint64_t round) const {
  WaitReport report{.round = round, .moved = moved()};
  std::set<Rank> awaited;
  for (const auto& operation : active_)
    for (const Pending& message : operation->pending())
      awaited.insert(message.peer);
  report.awaited.assign(awaited.begin(), awaited.end());
  const bool all_wait =
      waiters_ > 0 && static_cast<std::size_t>(waiters_) == waiting_threads_.size();
  report.is_blocked = all_wait && wholes_ == 0 && !mpi_ && !awaited.empty() && network_->is_quiet();
  if (!active_.empty()) report.doing = describe_wait(active_.back()->work());
  return report;
}

void Engine::ask(const std::vector<Rank>& ranks, std::uint64_t round) {
  std::array<std::byte, kQuestionBytes> question;
  WireWriter(question).put(round);
  for (const Rank rank : ranks)
    network_->say(rank, FrameKind::question, question);
}

/// While a thread waits and nothing moves the ranks concerned are asked what they do, at first
/// every second and then less often, but for a second time as soon as all of them are blocked.
void Engine::look_for_dead_end(std::chrono::steady_clock::time_point now) {
  const std::uint64_t moved_so_far = moved();
  if (moved_so_far != seen_moved_ || waiters_ == 0 || round_gap_ == 0ms) {
    seen_moved_ = moved_so_far;
    round_gap_ = kFirstRound;
    next_round_ = now + round_gap_;
    waits_.forget();
    return;
  }
  if (now < next_round_) return;
  if (const auto sentence = waits_.dead_end()) throw Error(ErrorKind::usage, *sentence);
  round_gap_ = waits_.is_complete() ? kFirstRound : std::min(round_gap_ * 2, kLongestRound);
  next_round_ = now + round_gap_;
  const auto to_ask = waits_.begin_round(report(waits_.round() + 1));
  ask(to_ask, waits_.round());
}

// ---- ranks from which nothing comes ----

void Engine::check_silence_of(Operation& operation) {
  const auto now = std::chrono::steady_clock::now();
  const auto pending = operation.pending();
  std::size_t moved = operation.work().program->program.steps.size() - operation.steps_left();
  for (const Pending& message : pending)
    moved += message.moved;
  if (moved != operation.seen_moved) {
    operation.seen_moved = moved;
    operation.seen_at = now;
    operation.next_warning = silence_;
    asked_.clear();
    answered_.clear();
  }
  const auto silence =
      std::chrono::duration_cast<std::chrono::milliseconds>(now - operation.seen_at);
  if (operation.next_warning == 0ms) operation.next_warning = silence_;
  if (silence >= operation.next_warning && silence < timeout_) warn_of_silence(operation, silence);
  if (silence >= timeout_ && !pending.empty()) ask_and_accuse(operation, silence);
  if (silence >= timeout_ && operation.work().whole) accuse_whole(operation);
}

/// A host that has lost its power says nothing, and neither does one behind a cable that is cut.
void Engine::check_reachable(std::chrono::steady_clock::time_point now) {
  if (silence_ >= timeout_) return;
  std::set<Rank> awaited;
  for (const auto& operation : active_)
    for (const Pending& message : operation->pending())
      awaited.insert(message.peer);
  std::erase_if(unacknowledged_, [&](const auto& each) {
    return !awaited.contains(each.first) || now - each.second.seen > kBetweenLooks;
  });
  for (const Rank peer : awaited) {
    if (!network_->is_unacknowledged(peer)) {
      unacknowledged_.erase(peer);
      continue;
    }
    Unacknowledged& known = unacknowledged_.try_emplace(peer, now, now).first->second;
    known.seen = now;
    if (now - known.since >= silence_)
      throw Error(ErrorKind::remote, "rank " + std::to_string(peer.value) +
                                         ": its host has not answered for " + to_string(silence_));
  }
}

/// The rank lives, as its connection does: it computes for long, is stopped, or waits elsewhere.
void Engine::warn_of_silence(Operation& operation, std::chrono::milliseconds silence) {
  operation.next_warning = 3 * silence;
  const auto pending = operation.pending();
  if (operation.work().part_of != nullptr || pending.empty()) return;
  const auto silent = std::ranges::find_if(
      pending, [&](const Pending& message) { return waits_.answer_of(message.peer) == nullptr; });
  const Pending& shown = silent == pending.end() ? pending.front() : *silent;
  const WaitReport* const answer = waits_.answer_of(shown.peer);
  warnings_.push_back(
      "rank " + std::to_string(shown.peer.value) +
      (shown.is_receive ? " has sent nothing for " : " has taken nothing for ") +
      to_string(silence) + (answer == nullptr ? "" : " and waits in " + answer->doing) + "; rank " +
      std::to_string(self_.value) + " waits for it in " + describe_wait(operation.work()) +
      ", for up to " + to_string(timeout_) + " (FASTGPU_COMM_TIMEOUT)");
}

/// A rank that waits itself is not to blame: it is believed until whoever it waits for has been
/// silent long enough for it, too. Its wait began before it would have been accused.
void Engine::ask_and_accuse(const Operation& operation, std::chrono::milliseconds silence) {
  const auto grace = std::clamp(timeout_ / 8, kLeastGrace, kMostGrace);
  const auto pending = operation.pending();
  const auto has_answered = [&](const Pending& message) {
    return answered_.contains(message.peer) || waits_.answer_of(message.peer) != nullptr;
  };
  if (asked_.empty()) answered_.clear();
  for (const Pending& message : pending)
    if (asked_.insert(message.peer).second) ask({message.peer}, waits_.round());
  if (silence < timeout_ + grace) return;
  auto culprit = std::ranges::find_if_not(pending, has_answered);
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
