// Detection of waits that lead nowhere: ranks that are silent, ranks whose host has gone, and ranks
// that wait for each other.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/common/caused_error.hpp"
#include "comm/engine/operation.hpp"
#include "comm/engine/wait_graph.hpp"
#include "comm/transports/control_channel.hpp"

namespace fastgpu::comm {

/// The limits of a wait in which nothing moves.
struct StallLimits {
  std::chrono::milliseconds timeout{0};  ///< Ends the job.
  std::chrono::milliseconds silence{0};  ///< Is reported; a host that acknowledges nothing is dead.
};

/// The state of the engine that a detector looks at.
struct WaitState {
  const std::vector<std::shared_ptr<Operation>>& operations;  ///< Operations under way.
  const std::vector<std::optional<CausedError>>& lost;        ///< Lost ranks, by rank.
  /// Returns whether this rank does nothing until something arrives: all threads that ever wait do
  /// so now, and nothing that it has sent is on its way.
  std::function<bool()> is_blocked;
};

/// A detector of stalls. One thread at a time.
class StallDetector {
 public:
  /// Borrows the channel and what is in `state`.
  StallDetector(Rank self, StallLimits limits, ControlChannel& control, WaitState state)
      : self_(self),
        limits_{limits.timeout, std::min(limits.silence, limits.timeout)},
        control_(control),
        state_(std::move(state)),
        waits_(self) {}

  void step_finished() noexcept { ++finished_steps_; }

  /// Looks at all waits. `is_waiting`: a thread waits for an operation. Throws ErrorKind::usage for
  /// ranks that wait for each other, ErrorKind::remote for a host that has gone, and
  /// ErrorKind::transient for a rank that was silent for the whole timeout.
  void check(bool is_waiting);

  void on_question(Rank from, std::span<const std::byte> question);
  /// Throws ErrorKind::remote for an answer that makes no sense.
  void on_answer(Rank from, std::span<const std::byte> answer);

  bool has_warnings() const noexcept { return !warnings_.empty(); }
  /// Returns the sentences for the user since the last call.
  std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

 private:
  using Clock = std::chrono::steady_clock;
  /// A rank whose host acknowledges nothing.
  struct Unacknowledged {
    Clock::time_point since{};  ///< The time of the first look that found it so.
    Clock::time_point seen{};   ///< The time of the last one.
  };

  std::set<Rank> awaited() const;
  std::uint64_t moved() const;
  WaitReport report(std::uint64_t round) const;
  void ask(const std::vector<Rank>& ranks, std::uint64_t round);
  void check_for_deadlock(Clock::time_point now, bool is_waiting);
  void check_hosts(Clock::time_point now);
  void check_silence_of(Operation& operation, Clock::time_point now);
  void warn_of_silence(Operation& operation, Clock::time_point now);
  void ask_and_accuse(const Operation& operation, std::chrono::milliseconds silence);
  std::chrono::milliseconds grace() const noexcept;
  std::chrono::milliseconds limit_of(const WaitReport* answer) const noexcept;
  [[noreturn]] void fail_offloaded(const Operation& operation) const;

  Rank self_;
  StallLimits limits_;
  ControlChannel& control_;
  WaitState state_;
  WaitGraph waits_;
  std::uint64_t finished_steps_ = 0;  ///< Steps of all operations.
  std::uint64_t seen_moved_ = 0;      ///< The result of moved() at the last look.
  Clock::time_point next_round_{};    ///< The time of the next round of questions.
  std::chrono::milliseconds round_gap_{0};
  std::map<Rank, Unacknowledged> unacknowledged_;
  std::set<Rank> asked_;  ///< Ranks that were asked before one is accused, since the last move.
  Clock::time_point next_question_{};  ///< The time from which these are asked again.
  std::set<Rank> answered_;            ///< Ranks that have answered that they wait.
  std::map<Rank, Clock::time_point> next_warning_of_;  ///< No rank is warned of again before.
  std::vector<std::string> warnings_;
};

}  // namespace fastgpu::comm
