#include "comm/engine/stall_detector.hpp"

#include <algorithm>
#include <array>

#include "base/units.hpp"
#include "base/wait_notice.hpp"
#include "comm/common/caused_error.hpp"
#include "comm/common/wire.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// The time for a rank to answer that it waits too.
constexpr std::chrono::milliseconds kLeastGrace = 100ms;
constexpr std::chrono::milliseconds kMostGrace = 10s;

/// The longest time between two looks at what is not acknowledged, if the second confirms the
/// first.
constexpr std::chrono::milliseconds kBetweenLooks = 5s;

/// The time between two rounds of questions.
constexpr std::chrono::milliseconds kFirstRound = 1s;
constexpr std::chrono::milliseconds kLongestRound = 16s;

}  // namespace

void StallDetector::check(bool is_waiting) {
  const auto now = Clock::now();
  check_for_deadlock(now, is_waiting);
  check_hosts(now);
  for (const auto& operation : state_.operations)
    check_silence_of(*operation, now);
}

// ---- ranks that wait for each other ----

void StallDetector::on_question(Rank from, std::span<const std::byte> question) {
  if (state_.operations.empty()) return;
  const auto round = WireReader(question).get<std::uint64_t>();
  control_.answer(from, encode(report(round), kMostAnswerBytes));
}

void StallDetector::on_answer(Rank from, std::span<const std::byte> answer) {
  answered_.insert(from);
  ask(waits_.on_report(from, decode_wait_report(answer)), waits_.round());
}

std::set<Rank> StallDetector::awaited() const {
  std::set<Rank> awaited;
  for (const auto& operation : state_.operations)
    for (const Pending& message : operation->pending())
      awaited.insert(message.peer);
  return awaited;
}

std::uint64_t StallDetector::moved() const {
  std::uint64_t moved = finished_steps_;
  for (const auto& operation : state_.operations)
    for (const Pending& message : operation->pending())
      moved += message.moved;
  return moved;
}

WaitReport StallDetector::report(std::uint64_t round) const {
  WaitReport report{.round = round, .moved = moved()};
  const std::set<Rank> ranks = awaited();
  report.awaited.assign(ranks.begin(), ranks.end());
  report.is_blocked = !ranks.empty() && state_.is_blocked();
  if (!state_.operations.empty()) {
    const Work& last = state_.operations.back()->work();
    report.doing = describe(last);
    // Ranks that use several in another order wait in calls that look the same.
    if (const std::uint32_t communicator = communicator_in(last.tag_base); communicator != 0)
      report.doing += " of communicator " + std::to_string(communicator);
  }
  return report;
}

void StallDetector::ask(const std::vector<Rank>& ranks, std::uint64_t round) {
  std::array<std::byte, kQuestionBytes> question;
  WireWriter(question).put(round);
  for (const Rank rank : ranks)
    control_.ask(rank, question);
}

/// While a thread waits and nothing moves, asks the ranks concerned what they do: at first every
/// second and then less often, but for a second time as soon as all of them are blocked.
void StallDetector::check_for_deadlock(Clock::time_point now, bool is_waiting) {
  const std::uint64_t moved_so_far = moved();
  if (moved_so_far != seen_moved_ || !is_waiting || round_gap_ == 0ms) {
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

void StallDetector::check_silence_of(Operation& operation, Clock::time_point now) {
  const auto pending = operation.pending();
  std::size_t moved = operation.work().program->program.steps.size() - operation.steps_left();
  for (const Pending& message : pending)
    moved += message.moved;
  if (moved != operation.seen_moved) {
    operation.seen_moved = moved;
    operation.seen_at = now;
    operation.next_warning = limits_.silence;
    asked_.clear();
    answered_.clear();
  }
  const auto silence =
      std::chrono::duration_cast<std::chrono::milliseconds>(now - operation.seen_at);
  if (operation.next_warning == 0ms) operation.next_warning = limits_.silence;
  if (silence >= operation.next_warning && silence < 2 * (limits_.timeout + grace()))
    warn_of_silence(operation, now);
  if (silence >= limits_.timeout && !pending.empty()) ask_and_accuse(operation, silence);
  if (silence >= limits_.timeout && operation.work().offloaded) fail_offloaded(operation);
}

/// Throws if a host has acknowledged nothing for long: it has lost its power, or its cable is cut.
void StallDetector::check_hosts(Clock::time_point now) {
  if (limits_.silence >= limits_.timeout) return;
  const std::set<Rank> ranks = awaited();
  std::erase_if(unacknowledged_, [&](const auto& each) {
    return !ranks.contains(each.first) || now - each.second.seen > kBetweenLooks;
  });
  for (const Rank peer : ranks) {
    if (!control_.is_unacknowledged(peer)) {
      unacknowledged_.erase(peer);
      continue;
    }
    Unacknowledged& known =
        unacknowledged_.try_emplace(peer, Unacknowledged{now, now}).first->second;
    known.seen = now;
    if (now - known.since >= limits_.silence)
      throw CausedError(
          Error(ErrorKind::remote, name_of(peer) + ": its host has not answered for " +
                                       fastgpu::to_string(limits_.silence)),
          peer);
  }
}

/// Warns of a rank that lives, as its connection does: it computes for long, is stopped, or waits
/// elsewhere.
void StallDetector::warn_of_silence(Operation& operation, Clock::time_point now) {
  const auto silence =
      std::chrono::duration_cast<std::chrono::milliseconds>(now - operation.seen_at);
  operation.next_warning = 3 * silence;
  const auto pending = operation.pending();
  if (operation.work().part_of != nullptr || pending.empty()) return;
  const auto silent = std::ranges::find_if(
      pending, [&](const Pending& message) { return waits_.answer_of(message.peer) == nullptr; });
  const Pending& shown = silent == pending.end() ? pending.front() : *silent;
  // Many operations may wait for one rank, which is one thing to know.
  Clock::time_point& next = next_warning_of_[shown.peer];
  if (now < next) return;
  next = operation.seen_at + operation.next_warning;
  const WaitReport* const answer = waits_.answer_of(shown.peer);
  if (silence >= limit_of(answer)) return;  // It is accused soon.
  warnings_.push_back(
      "rank " + std::to_string(shown.peer.value) +
      (shown.is_receive ? " has sent nothing for " : " has taken nothing for ") +
      fastgpu::to_string(silence) + (answer == nullptr ? "" : " and waits in " + answer->doing) +
      "; rank " + std::to_string(self_.value) + std::string(kWaitsForItIn) +
      describe(operation.work()) + ", for up to " + fastgpu::to_string(limit_of(answer)) +
      (answer == nullptr ? " (FASTGPU_COMM_TIMEOUT)"
                         : " (twice FASTGPU_COMM_TIMEOUT, as that rank waits itself)"));
}

/// Returns the time for answers after the timeout.
std::chrono::milliseconds StallDetector::grace() const noexcept {
  return std::clamp(limits_.timeout / 8, kLeastGrace, kMostGrace);
}

/// Returns how long a rank may be silent that has given that answer; null: none.
std::chrono::milliseconds StallDetector::limit_of(const WaitReport* answer) const noexcept {
  return answer == nullptr ? limits_.timeout : 2 * limits_.timeout;
}

/// Throws if a rank was silent for too long. A rank that waits itself is not accused: it is
/// believed until the rank that it waits for has been silent long enough for it, too. Its wait
/// began before it would have been accused. Its answers show transports that it lives: one that has
/// carried nothing from it meanwhile is cut, and ends the wait.
void StallDetector::ask_and_accuse(const Operation& operation, std::chrono::milliseconds silence) {
  const auto now = Clock::now();
  const auto pending = operation.pending();
  const auto has_answered = [&](const Pending& message) {
    return answered_.contains(message.peer) || waits_.answer_of(message.peer) != nullptr;
  };
  if (asked_.empty()) answered_.clear();
  for (const Pending& message : pending)
    if (asked_.insert(message.peer).second || now >= next_question_)
      ask({message.peer}, waits_.round());
  if (now >= next_question_) next_question_ = now + grace() / 2;
  if (silence < limits_.timeout + grace()) return;
  auto culprit = std::ranges::find_if_not(pending, has_answered);
  if (culprit == pending.end() && silence < 2 * (limits_.timeout + grace())) return;
  if (culprit == pending.end()) culprit = pending.begin();
  throw CausedError(Error(ErrorKind::transient,
                          name_of(culprit->peer) +
                              (culprit->is_receive ? " sent nothing for " : " took nothing for ") +
                              fastgpu::to_string(limits_.timeout)),
                    culprit->peer);
}

void StallDetector::fail_offloaded(const Operation& operation) const {
  for (const Rank peer : *operation.work().program->group)
    if (const auto& lost = state_.lost[static_cast<std::size_t>(peer.value)])
      throw CausedError(*lost);
  throw Error(ErrorKind::transient, std::string(operation.work().offloaded->library()) +
                                        " has not ended it within " +
                                        fastgpu::to_string(limits_.timeout) +
                                        ": a rank is late, stuck, or in another call");
}

}  // namespace fastgpu::comm
