// Rounds in a row that come to nothing, and what is reported of them: pure, without messages.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/common/rank.hpp"

namespace fastgpu::comm {

/// One rank's count of rounds in a row without results, and of those to which it has given nothing.
/// Few of the counts are reported: the 3rd, the 6th, the 12th and so on.
class EmptyRounds {
 public:
  /// Counts a round of this rank. `gives_nothing` if it has left out its steps.
  void count_share(bool gives_nothing) noexcept { left_out_ = gives_nothing ? left_out_ + 1 : 0; }

  /// Returns the number of rounds in a row to which this rank has given nothing; 0 unless it is to
  /// be reported.
  std::uint32_t left_out_to_report() const noexcept { return reported(left_out_); }

  /// Counts the result of a round: `culprit` is the rank for whose numbers it was skipped, absent
  /// for a round that was not. Returns the warning if there is one: the same on all ranks.
  std::optional<std::string> count_result(std::optional<Rank> culprit);

 private:
  static std::uint32_t reported(std::uint32_t rounds) noexcept;

  std::uint32_t left_out_ = 0;
  std::uint32_t skipped_ = 0;
};

/// Returns a warning for each rank that has given nothing to its last rounds; `rounds`, by rank,
/// are 0 for others.
std::vector<std::string> warnings_of_left_out(std::span<const std::uint32_t> rounds);

}  // namespace fastgpu::comm
