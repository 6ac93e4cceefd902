// What ranks tell each other at the end of a step, and how it is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/entry/gradient_set.hpp"
#include "comm/rank.hpp"

namespace fastgpu::comm {

/// The first number of a rank's gradients that was no number, before anything was summed.
struct NonFiniteReport {
  enum class Value : std::uint8_t { nan, infinity };

  Rank rank{};
  GradientId gradient{};
  std::uint64_t index = 0;  ///< Of the element in its gradient.
  Value value = Value::nan;

  friend bool operator==(const NonFiniteReport&, const NonFiniteReport&) = default;
};

/// Verdicts hold for all ranks once one rank has them. Ranks that disagree notice on the way.
struct Verdicts {
  bool is_incomplete = false;  ///< Some gradient has not been made ready.
  bool has_non_finite = false;
  bool is_leaving = false;  ///< This was the rank's last step.
  bool differs = false;     ///< Steps or plans are not the same.

  /// Whether the ready bits and the report have to be exchanged.
  bool needs_details() const noexcept { return is_incomplete || has_non_finite; }

  friend bool operator==(const Verdicts&, const Verdicts&) = default;
};
Verdicts operator|(const Verdicts& a, const Verdicts& b) noexcept;

/// All that is said of a step in which nothing happens.
struct Summary {
  static constexpr std::size_t kBytes = 9;

  std::uint32_t step = 0;
  std::uint32_t plan = 0;  ///< The lower half of its hash.
  Verdicts verdicts{};
  bool is_late = false;  ///< No summary yet: the RankState of a rank that is late follows.

  void combine(const Summary& other) noexcept;
};

/// What is said besides where gradients are missing, or are no numbers.
struct Details {
  GradientSet ready_on_all;
  GradientSet ready_on_any;
  std::optional<NonFiniteReport> report{};  ///< Of the lowest rank that has one.

  static std::size_t bytes(std::size_t gradients) noexcept;
  void combine(const Details& other);
};

/// What one rank tells everybody where ranks have gone different ways, or when it is late.
struct RankState {
  Rank rank{};
  std::uint32_t step = 0;
  std::uint64_t plan = 0;
  Verdicts verdicts{};
  std::uint32_t late_ms = 0;  ///< How long the step of a rank that is late had lasted.
  GradientSet ready;

  static std::size_t bytes(std::size_t gradients) noexcept;
};

std::vector<std::byte> encode(const Summary& summary);
std::vector<std::byte> encode(const Details& details);
std::vector<std::byte> encode(const RankState& state);

// Throw ErrorKind::remote for bytes that are none.
Summary decode_summary(std::span<const std::byte> message);
Details decode_details(std::span<const std::byte> message, std::size_t gradients);
RankState decode_rank_state(std::span<const std::byte> message, std::size_t gradients);

}  // namespace fastgpu::comm
