// Finds the quickest settings for a job's steps, by trying few of them for few steps.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "comm/engine/call.hpp"
#include "comm/schedule/network_model.hpp"

namespace fastgpu::comm {

struct TunerSetting {
  int flows = 1;    ///< Connections over which a message is spread.
  int streams = 1;  ///< Buckets that need not wait for each other.
  Bytes bucket{};
  AllReducePlan plan{};  ///< The plan of the all-reduce of each bucket.

  friend auto operator<=>(const TunerSetting&, const TunerSetting&) = default;
};

/// A setting and the expected time of a step's communication with it.
struct Prediction {
  TunerSetting setting;
  Seconds expected{};
};

/// The possible choices.
struct SearchSpace {
  TunerSetting usual;  ///< The setting without tuning.
  int most_flows = 1;  ///< At most kMostFlows.
  int most_streams = 1;
  double gradient_bytes = 0;  ///< The bytes of one step, on the wire.
  int gradients = 1;
  std::vector<AllReducePlan> plans{};  ///< Others than the usual one, the most promising first.
};

/// Returns flows, streams and bucket sizes by powers of two, each with its prediction, best first.
/// A network is hardly known before it is measured, so this only decides what to try first. Flows
/// up to a cap are taken to help, buckets to cost a latency each, and the last bucket to overlap
/// with nothing.
std::vector<Prediction> predictions(const SearchSpace& space, const NetworkLink& link);

/// A search by successive halving over the most promising settings, then over their neighbours,
/// then over other ways of all-reduce with the best of them. Pure: ranks that are given the same
/// times come to the same settings. Ends within kMostSteps steps.
class Tuner {
 public:
  static constexpr int kMostSteps = 30;
  /// The least gain for which the usual setting is left.
  static constexpr double kWorthwhile = 0.03;

  Tuner(const SearchSpace& space, const NetworkLink& link);

  /// Returns the setting for the next step. Once done: the result.
  const TunerSetting& current() const;

  /// Takes the time of the step that was made with current(): the longest of all ranks.
  void step_took(Seconds time);

  bool is_done() const noexcept { return is_done_; }
  int steps() const noexcept { return steps_; }

 private:
  struct Arm {
    TunerSetting setting;
    /// The best of its steps: a disturbance only makes a step longer.
    std::optional<Seconds> best{};
  };
  struct Stage {
    std::size_t arms = 0;  ///< The maximum of arms.
    int rounds = 0;        ///< Steps of each arm.
  };
  static constexpr Stage kStages[] = {{8, 1}, {3, 2}, {4, 2}, {4, 1}, {2, 2}};  // 30 steps in all.
  static constexpr std::size_t kRefinement = 2;  ///< The stage in which neighbours come in.
  static constexpr std::size_t kOtherPlans = 3;  ///< The stage in which other ways come in.

  void add_diverse(std::span<const Prediction> known, std::size_t count);
  void add_neighbours(std::size_t count);
  void add_plans(std::size_t count);
  bool add(const TunerSetting& setting);
  void next_stage();
  void finish();

  SearchSpace space_;
  std::vector<Arm> arms_;  ///< The usual setting is always among them.
  std::vector<TunerSetting> tried_;
  std::size_t stage_ = 0;
  std::size_t arm_ = 0;
  int round_ = 0;
  int steps_ = 0;
  bool is_done_ = false;
};

}  // namespace fastgpu::comm
