// Decides when rounds of steps end, what a rank's share of each weighs, and when all ranks are
// done: pure, without messages.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/multistep/multistep_settings.hpp"

namespace fastgpu::comm {

/// The contribution of one rank to a round.
struct RoundShare {
  std::uint64_t round = 0;
  std::uint32_t slice = 0;
  double weight = 0;         ///< The weight of this rank's steps; 0 if it has made none.
  double reference = 1;      ///< The weight that is expected: the same on all ranks.
  bool is_finished = false;  ///< The rank makes no further step.

  /// Returns the factor of this rank's mean over its steps; 1 where it weighs what is expected.
  double factor() const noexcept { return weight / reference; }
};

/// The averages over all ranks of what they have contributed.
struct RoundTotal {
  double weight = 0;
  double finished = 0;  ///< 1 if all ranks have finished.
};

/// The result of a round, the same on all ranks.
struct RoundVerdict {
  std::uint64_t round = 0;
  bool has_results = false;  ///< Some rank has made a step.
  bool is_over = false;      ///< No further round follows.
  double factor = 0;         ///< The factor that makes the average over the ranks a weighted mean.
};

/// One rank's count of steps and rounds. All ranks make the same rounds: one without further steps
/// takes part with weight 0 until all have finished. So the last rounds have what is left, and no
/// rank waits for one that has gone.
class RoundClock {
 public:
  explicit RoundClock(const MultistepSettings& settings);

  const MultistepSettings& settings() const noexcept { return settings_; }
  std::uint64_t round() const noexcept { return state_.round; }
  std::uint32_t steps() const noexcept { return state_.steps; }  ///< Steps in this round so far.

  /// Returns whether the next step is the last one of its round.
  bool is_last_step() const noexcept {
    return state_.steps + 1 >= steps_of_round(settings_, state_.round);
  }

  /// Counts a step of that weight; 0 for one that is left out. Returns whether the round ends with
  /// it.
  bool step(double weight);

  /// Forgets the steps since the last average of a slice, whose parameters are as they were then.
  void forget(std::uint32_t slice) { state_.weights[slice] = 0; }

  /// Returns the weight that is expected of each rank in this round.
  double reference() const noexcept;

  /// Takes this rank's share of the round that ends, and begins the next one.
  RoundShare take_share(bool is_finished);

  /// Judges the round of `share` once all shares are known. Called in the order of rounds.
  RoundVerdict judge(const RoundShare& share, const RoundTotal& total);

  /// Everything that `restore` needs.
  struct State {
    std::uint64_t round = 0;
    std::uint32_t steps = 0;
    std::uint32_t finished_rounds = 0;
    double step_weight = 1;
    std::vector<double> weights{};

    friend bool operator==(const State&, const State&) = default;
  };
  const State& state() const noexcept { return state_; }
  /// Throws ErrorKind::usage for a state that no clock with these settings has.
  void restore(const State& state);

 private:
  MultistepSettings settings_;
  State state_;
};

}  // namespace fastgpu::comm
