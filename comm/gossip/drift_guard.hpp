// The guard of gossip: what is done when members drift apart. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/gossip/gossip_settings.hpp"

namespace fastgpu::comm {

/// One way of mixing. The guard goes from one to the next. With a codec and exact steps, codes are
/// mixed in the steps between.
struct GuardRung {
  double step_size = 1;                ///< The part of the difference that is taken over.
  std::optional<CodecChoice> codec{};  ///< Absent: numbers are sent as they are.
  int exact_every = 0;                 ///< Every so many steps average exactly; 0: none does.

  friend bool operator==(const GuardRung&, const GuardRung&) = default;
};

/// Returns the value of FASTGPU_COMM_WIRE for a way of mixing: "topk:0.01", or "same".
std::string wire_of(const GuardRung& rung);

/// Returns the ways of mixing, the user's first: smaller steps down to the codec's usual one, then
/// less compression, then exact averages, each more often. Those between codes begin with as many
/// steps as let ranks drift less far than plain averaging with this lag does.
std::vector<GuardRung> guard_rungs(const GossipSettings& settings, MixMethod method, double lag);

/// The means over all members, from sketches.
struct GuardMeasure {
  double distance = 0;   ///< The distance of a member from the average of all.
  double movement = 0;   ///< The distance of its last local update from the average update.
  double alignment = 0;  ///< The cosine of both: 1 if local updates lead straight apart.
  double length = 0;     ///< The length of the average.

  friend bool operator==(const GuardMeasure&, const GuardMeasure&) = default;
};

/// The memory of the guard, the same on all ranks.
struct GuardState {
  std::size_t rung = 0;
  double distance = 0;          ///< The distance measured last.
  double movement = 0;          ///< The largest movement, which fades.
  double alignment = 0;         ///< The mean of the last alignments, of ranks at a distance.
  std::uint32_t calm = 0;       ///< Measurements since the distance was last too large.
  std::uint32_t patience = 16;  ///< Calm measurements before a rung is taken back.

  friend bool operator==(const GuardState&, const GuardState&) = default;
};

enum class GuardAction : std::uint8_t {
  none,
  smaller_step,      ///< The consensus step size was taken back.
  less_compression,  ///< The codec was eased, or left out.
  exact_steps,       ///< Exact averaging steps were put in.
  relaxed            ///< A rung was taken back after a calm time.
};

struct GuardDecision {
  GuardState state{};
  GuardAction action = GuardAction::none;
  bool is_exact_next = false;  ///< The next step averages exactly: distance was too large.
};

/// The distances that plain averaging on the same graph lets stay.
struct PlainDistances {
  double spread = 1;  ///< At most, for each unit of movement.
  double lag = 0;     ///< Along updates that stay the same, for each unit of them.

  friend bool operator==(const PlainDistances&, const PlainDistances&) = default;
};

/// Decides after a measurement. The distance is too large if it is more than a part of the spread
/// of plain averaging for codes alone, a few times that otherwise; this counts fully for updates
/// that lead apart, and little for those at random, which cancel out. With codes alone it is too
/// large also if ranks are farther along their last updates than the lag of plain averaging. Exact
/// averages are then put in, and stay for long: smaller steps would let ranks drift farther, and
/// ranks whose data differ do so to the end.
GuardDecision decide(const GuardState& state, const GuardMeasure& measure,
                     const std::vector<GuardRung>& rungs, const PlainDistances& plain);

/// Returns the spread of plain averaging whose disagreement shrinks by `contraction` a step.
double spread_of(double contraction) noexcept;

/// Returns "step 40: members are 3.2 apart from their average: the consensus step size is now
/// 0.05".
std::string describe(const GuardDecision& decision, const std::vector<GuardRung>& rungs,
                     std::uint64_t step);

}  // namespace fastgpu::comm
