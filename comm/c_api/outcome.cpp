#include "comm/c_api/outcome.hpp"

namespace fastgpu::comm::c_api {
namespace {

fgc_non_finite kind_of(NonFiniteReport::Value value) noexcept {
  switch (value) {
    case NonFiniteReport::Value::nan:
      return FGC_NAN;
    case NonFiniteReport::Value::infinity:
      return FGC_INFINITY;
  }
  return FGC_NAN;
}

}  // namespace

fgc_outcome outcome_of(fgc_gradients& gradients, const StepOutcome& step) {
  gradients.skipped.clear();
  for (const GradientId id : step.skipped)
    gradients.skipped.push_back(id.value);
  fgc_outcome outcome{};
  outcome.step = step.step;
  outcome.skipped = gradients.skipped.data();
  outcome.skipped_count = gradients.skipped.size();
  outcome.is_applied = step.is_applied ? 1 : 0;
  outcome.is_somebody_leaving = step.is_somebody_leaving ? 1 : 0;
  outcome.have_views_moved = step.have_views_moved ? 1 : 0;
  if (step.non_finite) {
    outcome.non_finite = kind_of(step.non_finite->value);
    outcome.non_finite_rank = step.non_finite->rank.value;
    outcome.non_finite_gradient = step.non_finite->gradient.value;
    outcome.non_finite_index = step.non_finite->index;
  }
  return outcome;
}

}  // namespace fastgpu::comm::c_api
