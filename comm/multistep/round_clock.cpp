#include "comm/multistep/round_clock.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"

namespace fastgpu::comm {
namespace {

/// Factors this near to 1 are rounding errors of the averages.
constexpr double kNearOne = 1e-12;

std::size_t slices_of(const MultistepSettings& settings) {
  return settings.mode == MultistepMode::slices ? settings.steps : 1;
}

}  // namespace

RoundClock::RoundClock(const MultistepSettings& settings) : settings_(settings) {
  state_.weights.resize(slices_of(settings));
}

bool RoundClock::step(double weight) {
  for (double& each : state_.weights)
    each += weight;
  return ++state_.steps >= steps_of_round(settings_, state_.round);
}

double RoundClock::reference() const noexcept {
  return state_.step_weight * steps_since_average(settings_, state_.round);
}

RoundShare RoundClock::take_share(bool is_finished) {
  const std::uint32_t slice = slice_of_round(settings_, state_.round);
  const RoundShare share{.round = state_.round,
                         .slice = slice,
                         .weight = std::exchange(state_.weights[slice], 0),
                         .reference = reference(),
                         .is_finished = is_finished};
  ++state_.round;
  state_.steps = 0;
  return share;
}

/// The expected weight follows the last round in which all ranks made all their steps. It keeps the
/// numbers on the wire in their range, and has no influence on results but for rounding.
RoundVerdict RoundClock::judge(const RoundShare& share, const RoundTotal& total) {
  RoundVerdict verdict{.round = share.round};
  verdict.has_results = total.weight > 0;
  if (verdict.has_results) verdict.factor = share.reference / total.weight;
  if (std::abs(verdict.factor - 1) < kNearOne) verdict.factor = 1;
  if (total.finished == 0 && verdict.has_results)
    state_.step_weight = total.weight / steps_since_average(settings_, share.round);
  // The other slices are averaged, too, before the end.
  state_.finished_rounds = total.finished == 1 ? state_.finished_rounds + 1 : 0;
  verdict.is_over = state_.finished_rounds >= slices_of(settings_);
  return verdict;
}

void RoundClock::restore(const State& state) {
  const bool is_sound =
      state.weights.size() == state_.weights.size() && std::isfinite(state.step_weight) &&
      state.step_weight > 0 && state.steps < steps_of_round(settings_, state.round) &&
      std::ranges::all_of(state.weights, [](double w) { return std::isfinite(w) && w >= 0; });
  if (!is_sound)
    throw Error(ErrorKind::usage, "a saved state of multistep training is damaged: its counts");
  state_ = state;
}

}  // namespace fastgpu::comm
