// The messages of ranks to each other at the end of a step, and their encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/common/rank.hpp"
#include "comm/gradients/gradient_set.hpp"
#include "comm/gradients/non_finite.hpp"

namespace fastgpu::comm {

/// A rank's judgement of a step. Verdicts hold for all ranks once one rank has them. Ranks that
/// disagree notice on the way.
struct Verdicts {
  bool is_incomplete = false;  ///< A gradient has not been made ready.
  bool has_non_finite = false;
  bool is_leaving = false;  ///< This was the rank's last step.
  bool differs = false;     ///< Steps or plans are not the same.

  /// Returns true if the ready bits and the report have to be exchanged.
  bool needs_details() const noexcept { return is_incomplete || has_non_finite; }

  friend bool operator==(const Verdicts&, const Verdicts&) = default;
};
Verdicts operator|(const Verdicts& a, const Verdicts& b) noexcept;

/// The complete message for a step without problems.
struct Summary {
  static constexpr std::size_t kBytes = 9;

  std::uint32_t step = 0;
  std::uint32_t plan = 0;  ///< The lower half of the plan's hash.
  Verdicts verdicts{};
  bool is_late = false;  ///< No summary yet: the RankState of a late rank follows.

  void combine(const Summary& other) noexcept;
};

/// The additional message if gradients are missing, or have numbers that are not finite.
struct Details {
  GradientSet ready_on_all;
  GradientSet ready_on_any;
  std::optional<NonFiniteReport> report{};  ///< The report of the lowest rank that has one.

  static std::size_t bytes(std::size_t gradients) noexcept;
  void combine(const Details& other);
};

/// The message of one rank to all if ranks have diverged, or when it is late.
struct RankState {
  Rank rank{};
  std::uint32_t step = 0;
  std::uint64_t plan = 0;
  Verdicts verdicts{};
  std::uint32_t late_ms = 0;  ///< The time that the step of a late rank had lasted.
  GradientSet ready;

  static std::size_t bytes(std::size_t gradients) noexcept;
};

std::vector<std::byte> encode(const Summary& summary);
std::vector<std::byte> encode(const Details& details);
std::vector<std::byte> encode(const RankState& state);

// These throw ErrorKind::remote for invalid bytes.
Summary decode_summary(std::span<const std::byte> message);
Details decode_details(std::span<const std::byte> message, std::size_t gradients);
RankState decode_rank_state(std::span<const std::byte> message, std::size_t gradients);

}  // namespace fastgpu::comm
