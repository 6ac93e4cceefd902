// The progress of this rank in the present step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "comm/common/rank.hpp"
#include "comm/fusion/gradient_table.hpp"
#include "comm/gradients/gradient_set.hpp"
#include "comm/gradients/non_finite.hpp"
#include "comm/gradients/step_state.hpp"

namespace fastgpu::comm {

/// The gradients of one rank on their way through a step. Not thread-safe.
class StepProgress {
 public:
  StepProgress() = default;
  explicit StepProgress(std::size_t gradients) : begun_(gradients), ready_(gradients) {}

  std::uint32_t step() const noexcept { return step_; }
  /// Returns true between steps: no gradient has begun.
  bool is_between_steps() const noexcept { return begun_.count() == 0; }

  /// Notes that a gradient is being packed. Returns false if it was, or is ready, already.
  bool begin(GradientId id) {
    if (begun_.contains(id)) return false;
    begun_.add(id);
    return true;
  }
  void ready(GradientId id) {
    ready_.add(id);
    order_.push_back(id);
  }
  /// Keeps the report of the earliest number that is not finite.
  void found(const NonFiniteReport& report) { keep_first(report_, report); }

  const std::optional<NonFiniteReport>& report() const noexcept { return report_; }
  /// Takes the gradients in the order in which they became ready.
  std::vector<GradientId> take_order() noexcept { return std::exchange(order_, {}); }

  RankState state(Rank rank, std::uint64_t plan, Verdicts verdicts) const {
    return {.rank = rank, .step = step_, .plan = plan, .verdicts = verdicts, .ready = ready_};
  }

  void next_step() noexcept {
    ++step_;
    begun_.clear();
    ready_.clear();
    order_.clear();
    report_.reset();
  }

 private:
  std::uint32_t step_ = 0;
  GradientSet begun_;  ///< Gradients that are being packed, or ready.
  GradientSet ready_;
  std::vector<GradientId> order_;
  std::optional<NonFiniteReport> report_;
};

}  // namespace fastgpu::comm
