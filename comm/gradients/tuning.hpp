// The tuner in a running job: all ranks change to the same setting after the same step.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "comm/communicator/communicator.hpp"
#include "comm/gradients/gradient_events.hpp"
#include "comm/gradients/settings.hpp"
#include "comm/gradients/tuner.hpp"

namespace fastgpu::comm {

class Tuning {
 public:
  /// Makes a collective call of `control`, which is borrowed: rank 0 sends the result of an earlier
  /// job. `events`, which may be null, gets a warning if the result cannot be kept.
  Tuning(Communicator& control, const GradientSettings& settings, const GradientTable& table,
         GradientEvents* events);

  const TunerSetting& current() const noexcept { return current_; }

  /// Ends a step. A collective until the search is over, and a local call after it. Returns true if
  /// current() is another setting from now on.
  bool step_ended();

 private:
  void keep();

  Communicator& control_;
  GradientEvents* events_;
  TunerSetting current_;
  std::optional<Tuner> tuner_;  ///< Absent if there is nothing to search for.
  std::filesystem::path file_;  ///< Empty: the result is not kept.
  /// The start of the present step with current(), warm.
  std::optional<std::chrono::steady_clock::time_point> step_began_;
};

}  // namespace fastgpu::comm
