#include "comm/gradients/step_outcome.hpp"

#include "comm/gradients/agree.hpp"

namespace fastgpu::comm {
namespace {

bool is_applied(const Agreement& agreement, NonFiniteAction non_finite) {
  const bool is_bad = agreement.details.report.has_value() &&
                      (non_finite == NonFiniteAction::skip || non_finite == NonFiniteAction::stop);
  return !is_bad && !agreement.is_torn();
}

}  // namespace

StepOutcome outcome_of(const Agreement& agreement, std::uint32_t step, NonFiniteAction non_finite) {
  return {.step = step,
          .is_applied = is_applied(agreement, non_finite),
          .skipped = agreement.details.ready_on_any.missing(),
          .non_finite = agreement.details.report,
          .is_somebody_leaving = agreement.summary.verdicts.is_leaving};
}

StepFailure difference_in(const Agreement& agreement, const GradientTable& table) {
  return {.culprit = odd_rank_in(agreement.ranks, table),
          .error = Error(ErrorKind::usage, describe_differences(agreement.ranks, table))};
}

std::optional<StepFailure> failure_of(
    const Agreement& agreement, const StepOutcome& outcome, const GradientTable& table,
    NonFiniteAction non_finite,
    const std::function<std::string(const NonFiniteReport&)>& describe) {
  if (agreement.is_torn() && !outcome.is_somebody_leaving) return difference_in(agreement, table);
  if (outcome.non_finite && non_finite == NonFiniteAction::stop)
    return StepFailure{.culprit = outcome.non_finite->rank,
                       .error = Error(ErrorKind::remote, describe(*outcome.non_finite))};
  return std::nullopt;
}

}  // namespace fastgpu::comm
