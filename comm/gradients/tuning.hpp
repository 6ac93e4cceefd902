// The tuner in a running job: all ranks change to the same setting after the same step.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "comm/communicator/communicator.hpp"
#include "comm/gradients/gradient_events.hpp"
#include "comm/gradients/gradient_settings.hpp"
#include "comm/gradients/tuner.hpp"

namespace fastgpu::comm {

class Tuning {
 public:
  /// Whether rank 0 ends the search with a recommendation of a codec: not for gradients of a
  /// device.
  enum class Advice : std::uint8_t { none, of_codec };

  /// Makes a collective call of `control`, which is borrowed: rank 0 sends the result of an earlier
  /// job. `events`, which may be null, gets a warning if the result cannot be kept, and the
  /// recommendation.
  Tuning(Communicator& control, const GradientSettings& settings, const GradientTable& table,
         Advice advice, GradientEvents* events);

  const TunerSetting& current() const noexcept { return current_; }

  /// Ends a step, in which this rank waited so many seconds for gradients. A collective until the
  /// search is over, and a local call after it. Returns true if current() is another setting from
  /// now on.
  bool step_ended(double waited);

 private:
  void keep();
  void advise(double step_seconds, double waited);

  Communicator& control_;
  GradientEvents* events_;
  TunerSetting current_;
  std::optional<Tuner> tuner_;  ///< Absent if there is nothing to search for.
  std::filesystem::path file_;  ///< Empty: the result is not kept.
  Advice advice_;
  bool may_encode_;   ///< Whether a codec may be advised; the same on all ranks.
  double bytes_ = 0;  ///< The gradients of a step.
  /// The start of the present step with current(), warm.
  std::optional<std::chrono::steady_clock::time_point> step_began_;
};

}  // namespace fastgpu::comm
