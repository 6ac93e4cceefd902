// The outcome of a step, as it follows from the agreement of all ranks: pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/common/rank.hpp"
#include "comm/fusion/gradient_table.hpp"
#include "comm/gradients/gradient_settings.hpp"
#include "comm/gradients/negotiation.hpp"
#include "comm/gradients/non_finite.hpp"

namespace fastgpu::comm {

/// The common knowledge of all ranks about a step that has ended.
struct StepOutcome {
  std::uint32_t step = 0;             ///< Counted from 0.
  bool is_applied = true;             ///< Gradients have results: false for a skipped step.
  std::vector<GradientId> skipped{};  ///< Ready on no rank: left unchanged, except for views.
  std::optional<NonFiniteReport> non_finite{};
  bool is_somebody_leaving = false;  ///< No further step follows.
  bool have_views_moved = false;     ///< Views must be requested again.
};

/// Returns the outcome of a step, before views move.
StepOutcome outcome_of(const Agreement& agreement, std::uint32_t step, NonFiniteAction non_finite);

/// The failure of a step on all ranks.
struct StepFailure {
  Rank culprit{};
  Error error;
};

/// Returns the failure for ranks that have diverged.
StepFailure difference_in(const Agreement& agreement, const GradientTable& table);

/// Returns the failure of a step in which gradients are ready on some ranks only, or have numbers
/// that are not finite if that is to stop; absent for others. `describe` gives the sentence about
/// such a number.
std::optional<StepFailure> failure_of(
    const Agreement& agreement, const StepOutcome& outcome, const GradientTable& table,
    NonFiniteAction non_finite, const std::function<std::string(const NonFiniteReport&)>& describe);

}  // namespace fastgpu::comm
