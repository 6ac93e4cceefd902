// The graph of waiting ranks: their reports to each other, and the detection of deadlocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "comm/common/rank.hpp"

namespace fastgpu::comm {

/// A rank's report of its calls and waits.
struct WaitReport {
  std::uint64_t round = 0;  ///< The number of the question.
  std::uint64_t moved = 0;  ///< A count of all that has arrived, or was sent.
  /// All threads that ever wait do so now, and nothing that this rank has sent is on its way.
  bool is_blocked = false;
  std::vector<Rank> awaited{};  ///< Ranks that must send or take something.
  std::string doing{};          ///< "all_reduce number 7 (sum of 10 float32)"
};

/// Returns at most `most` bytes: a rank that waits for more others than fit is not blocked.
std::vector<std::byte> encode(const WaitReport& report, std::size_t most);

/// Reads a report. Throws ErrorKind::remote for any other bytes.
WaitReport decode_wait_report(std::span<const std::byte> bytes);

/// Rounds of questions to the ranks that this one waits for, directly or because they wait for
/// others.
class WaitGraph {
 public:
  explicit WaitGraph(Rank self) : self_(self) {}

  /// Drops the rounds so far: something has moved.
  void forget();

  /// Begins a round; returns the ranks to ask.
  std::vector<Rank> begin_round(WaitReport mine);
  std::uint64_t round() const noexcept { return round_; }

  /// Takes a rank's answer; returns the further ranks to ask.
  std::vector<Rank> on_report(Rank from, WaitReport report);

  /// Returns the rank's answer in this round; null if it has not answered.
  const WaitReport* answer_of(Rank rank) const;

  /// Returns whether all have answered in this round, and each is blocked.
  bool is_complete() const;

  /// Describes the waits if all ranks were blocked in this round and in the one before, and nothing
  /// has moved between them: as each waits for others of them, no rank will ever go on.
  std::optional<std::string> dead_end() const;

 private:
  using Reports = std::map<Rank, WaitReport>;

  std::vector<Rank> not_yet_asked(const std::vector<Rank>& ranks);

  Rank self_;
  std::uint64_t round_ = 0;
  std::set<Rank> asked_;
  Reports reports_;
  Reports before_;  ///< The reports of the last complete round.
};

}  // namespace fastgpu::comm
