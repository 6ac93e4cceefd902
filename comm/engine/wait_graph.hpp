// Who waits for whom: what ranks tell each other, and when none of them can go on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "comm/rank.hpp"

namespace fastgpu::comm {

/// What one rank is doing.
struct WaitReport {
  std::uint64_t round = 0;  ///< The number of the question.
  std::uint64_t moved = 0;  ///< Grows with whatever arrives at the rank, and with what it has sent.
  /// All threads that ever wait do so now, and nothing that this rank has sent is on its way.
  bool is_blocked = false;
  std::vector<Rank> awaited{};  ///< Ranks that must send or take something.
  std::string doing{};          ///< "all_reduce number 7 (sum of 10 float32)"
};

/// At most `most` bytes: a rank that waits for more others than fit is not blocked.
std::vector<std::byte> encode(const WaitReport& report, std::size_t most);

/// Throws ErrorKind::remote for bytes that are no report.
WaitReport decode_wait_report(std::span<const std::byte> bytes);

/// Rounds of questions to the ranks that this one waits for, directly or because they wait for
/// others.
class WaitGraph {
 public:
  explicit WaitGraph(Rank self) : self_(self) {}

  /// Something has moved.
  void forget();

  /// Begins a round; returns the ranks to ask.
  std::vector<Rank> begin_round(WaitReport mine);
  std::uint64_t round() const noexcept { return round_; }

  /// Returns the further ranks to ask.
  std::vector<Rank> heard(Rank from, WaitReport report);

  /// What that rank has answered in this round; null where it has not.
  const WaitReport* answer_of(Rank rank) const;

  /// Whether all have answered in this round, and each is blocked.
  bool is_complete() const;

  /// Who waits where, if all were blocked in this round and in the one before, and nothing has
  /// moved between them: as each waits for others of them, none will ever go on.
  std::optional<std::string> dead_end() const;

 private:
  using Reports = std::map<Rank, WaitReport>;

  std::vector<Rank> not_yet_asked(const std::vector<Rank>& ranks);

  Rank self_;
  std::uint64_t round_ = 0;
  std::set<Rank> asked_;
  Reports reports_;
  Reports before_;  ///< Of the last round, where it was complete.
};

}  // namespace fastgpu::comm
