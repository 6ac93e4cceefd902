#include "comm/gossip/drift_guard.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace fastgpu::comm {
namespace {

/// Times the spread and the movement. Plain averaging stays below 1 by itself. Where codes let
/// distance grow, a third of that is what plain averaging has on ranks with different data.
constexpr double kAllowed = 1.5;
constexpr double kAllowedWithCodec = 0.35;
constexpr double kLeastAlignment = 0.03;
constexpr double kDrift = 0.3;      ///< The alignment from which on local updates lead apart.
constexpr double kFarTooLarge = 4;  ///< Times the allowed distance: averages exactly at once.
constexpr double kFading =
    0.75;  ///< The part of the largest movement that stays after a measurement.
constexpr double kShrinking =
    0.9;  ///< The part of the distance before that shows that it goes down by itself.
constexpr double kRounding = 1e-6;  ///< The part of the length that rounding may add.
constexpr double kEasier = 4;       ///< The part of topk grows so in a rung.
constexpr double kMostPart = 0.1;   ///< Beyond it exact averages are fewer bytes.
constexpr double kLagPart = 0.5;    ///< The part of plain averaging's lag that exact steps leave.
constexpr double kLeadingApart = 0.2;  ///< The alignment that is no chance of sketches.
constexpr std::uint32_t kLonger = 8;   ///< Times the patience after ranks have drifted apart.
constexpr int kMostBetween = 32;       ///< The most steps from one exact average to the next.
constexpr std::uint32_t kMostPatience = 1024;
constexpr int kExactEvery[] = {32, 8, 2, 1};

std::optional<CodecChoice> easier(const CodecChoice& codec) {
  switch (codec.id) {
    case CodecId::int8:
      return std::nullopt;
    case CodecId::one_bit:
      return CodecChoice{CodecId::int8};
    case CodecId::top_k:
      if (kEasier * codec.part > kMostPart) return std::nullopt;
      return CodecChoice{CodecId::top_k, kEasier * codec.part};
    case CodecId::power_sgd:
      break;
  }
  return std::nullopt;
}

std::string text_of(double value) {
  char text[32];
  const auto [end, error] =
      std::to_chars(text, text + sizeof(text), value, std::chars_format::general, 3);
  return {text, end};
}

std::string describe(const GuardRung& rung) {
  if (rung.exact_every == 1) return "each step averages exactly";
  if (rung.exact_every > 1)
    return "every " + std::to_string(rung.exact_every) + " steps one averages exactly" +
           (rung.codec ? ", between which " + wire_of(rung) + " is mixed" : "");
  if (!rung.codec) return "parameters are sent as they are";
  return wire_of(rung) + " with the consensus step size " + text_of(rung.step_size);
}

GuardAction action_to(const GuardRung& from, const GuardRung& to) {
  if (from.exact_every != to.exact_every) return GuardAction::exact_steps;
  if (from.codec != to.codec) return GuardAction::less_compression;
  return GuardAction::smaller_step;
}

}  // namespace

std::string wire_of(const GuardRung& rung) {
  if (!rung.codec) return "same";
  std::string text(entry_of(rung.codec->id).name);
  if (rung.codec->part > 0) text += ":" + text_of(rung.codec->part);
  return text;
}

std::vector<GuardRung> guard_rungs(const GossipSettings& settings, MixMethod method, double lag) {
  std::vector<GuardRung> rungs;
  if (method == MixMethod::exact) return {{.exact_every = 1}};
  if (method == MixMethod::difference) {
    const std::optional<CodecChoice> codec = settings.codec;
    const double usual = usual_step_size(*codec);
    double step = settings.step_size.value_or(usual);
    while (step > 1.5 * usual) {
      rungs.push_back({step, codec});
      step /= 2;
    }
    rungs.push_back({rungs.empty() ? step : std::min(step, usual), codec});
    for (auto easy = easier(*codec); easy; easy = easier(*easy))
      rungs.push_back({usual_step_size(*easy), easy});
    int every = 1;  // Ranks that average exactly are half as many steps apart in the mean.
    while (every < kMostBetween && every <= 2 * kLagPart * lag)
      ++every;
    for (; every > 1; every /= 2)
      rungs.push_back({usual, codec, every});
    rungs.push_back({.exact_every = 1});
    return rungs;
  }
  rungs.push_back({});
  for (const int every : kExactEvery)
    rungs.push_back({.exact_every = every});
  return rungs;
}

double spread_of(double contraction) noexcept {
  return std::max(1.0, contraction / (1 - contraction));
}

GuardDecision decide(const GuardState& state, const GuardMeasure& measure,
                     const std::vector<GuardRung>& rungs, const PlainDistances& plain) {
  GuardDecision decision{.state = state};
  GuardState& next = decision.state;
  const double before = state.distance;
  const double rounding = kRounding * measure.length;
  next.distance = measure.distance;
  next.movement = std::max(measure.movement, kFading * state.movement);
  // Ranks at one place have no direction. The first that have one give it.
  if (before <= rounding) next.alignment = measure.alignment;
  if (measure.distance > rounding && before > rounding)
    next.alignment = (3 * state.alignment + measure.alignment) / 4;
  const bool has_codes_alone = rungs[state.rung].codec && rungs[state.rung].exact_every == 0;
  const double allowed = has_codes_alone ? kAllowedWithCodec : kAllowed;
  const double limit = allowed * plain.spread * next.movement + rounding;
  const double counted = measure.distance * std::max(next.alignment, kLeastAlignment);
  const bool is_large = !(counted <= limit);  // Also if it is not a number.
  const bool has_drifted =
      has_codes_alone && measure.alignment >= kLeadingApart &&
      measure.distance * measure.alignment > plain.lag * measure.movement + rounding;
  decision.is_exact_next = !(counted <= kFarTooLarge * limit);
  if (!is_large && !has_drifted) {
    if (++next.calm < next.patience || next.rung == 0) return decision;
    next.calm = 0;
    --next.rung;
    decision.action = GuardAction::relaxed;
    return decision;
  }
  const bool is_shrinking = measure.distance < kShrinking * before;
  next.calm = 0;
  if (is_shrinking && !has_drifted && !decision.is_exact_next) return decision;
  if (next.rung + 1 == rungs.size()) return decision;
  ++next.rung;
  const bool leads_apart = has_drifted || next.alignment >= kDrift;
  while (leads_apart && rungs[next.rung].exact_every == 0)
    ++next.rung;
  decision.is_exact_next = true;  // What has grown is undone.
  const bool is_for_long = leads_apart && has_codes_alone;
  next.patience = std::min((is_for_long ? kLonger : 2) * next.patience, kMostPatience);
  decision.action = action_to(rungs[state.rung], rungs[next.rung]);
  return decision;
}

std::string describe(const GuardDecision& decision, const std::vector<GuardRung>& rungs,
                     std::uint64_t step) {
  std::string text = "step " + std::to_string(step) + ": ranks are " +
                     text_of(decision.state.distance) + " from their average";
  switch (decision.action) {
    case GuardAction::none:
      break;
    case GuardAction::smaller_step:
      text += ", too far: the consensus step size is taken back";
      break;
    case GuardAction::less_compression:
      text += ", too far: compression is eased";
      break;
    case GuardAction::exact_steps:
      text += ", too far: exact averages are put in";
      break;
    case GuardAction::relaxed:
      text += ", near enough for a long time";
      break;
  }
  if (decision.action != GuardAction::none) text += "; now " + describe(rungs[decision.state.rung]);
  if (decision.is_exact_next) text += "; this step averages exactly";
  return text;
}

}  // namespace fastgpu::comm
