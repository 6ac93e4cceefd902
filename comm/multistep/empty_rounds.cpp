#include "comm/multistep/empty_rounds.hpp"

#include <bit>
#include <cstddef>

namespace fastgpu::comm {
namespace {

/// The number of rounds in a row that are reported first.
constexpr std::uint32_t kRoundsUntilReport = 3;

}  // namespace

std::uint32_t EmptyRounds::reported(std::uint32_t rounds) noexcept {
  const bool is_reported =
      rounds % kRoundsUntilReport == 0 && std::has_single_bit(rounds / kRoundsUntilReport);
  return is_reported ? rounds : 0;
}

std::optional<std::string> EmptyRounds::count_result(std::optional<Rank> culprit) {
  skipped_ = culprit ? skipped_ + 1 : 0;
  if (reported(skipped_) == 0) return std::nullopt;
  return "multistep: the last " + std::to_string(skipped_) +
         " rounds were skipped, and all ranks have lost their steps: rank " +
         std::to_string(culprit->value) + " has numbers that are not finite";
}

std::vector<std::string> warnings_of_left_out(std::span<const std::uint32_t> rounds) {
  std::vector<std::string> warnings;
  for (std::size_t rank = 0; rank < rounds.size(); ++rank)
    if (rounds[rank] > 0)
      warnings.push_back("multistep: rank " + std::to_string(rank) + " gave nothing to the last " +
                         std::to_string(rounds[rank]) +
                         " rounds: it has left out its steps, such as for gradients that are not "
                         "finite");
  return warnings;
}

}  // namespace fastgpu::comm
