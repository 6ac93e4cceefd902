// The tuner in a running job: all ranks change to the same setting after the same step.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "comm/communicator.hpp"
#include "comm/entry/entry_events.hpp"
#include "comm/entry/settings.hpp"
#include "comm/entry/tuner.hpp"

namespace fastgpu::comm {

class Tuning {
 public:
  /// A collective of `control`, which is borrowed: rank 0 says what an earlier job has found.
  /// `events`, which may be null, are told where what is found cannot be kept.
  Tuning(Communicator& control, const EntrySettings& settings, const GradientTable& table,
         EntryEvents* events);

  const Setting& current() const noexcept { return current_; }

  /// A collective until the search is over, and nothing after. Call where a step has ended; true
  /// where current() is another setting from now on.
  bool step_ended();

 private:
  void keep();

  Communicator& control_;
  EntryEvents* events_;
  Setting current_;
  std::optional<Tuner> tuner_;  ///< Absent where nothing is to be found out.
  std::filesystem::path file_;  ///< Empty: the result is not kept.
  std::optional<std::chrono::steady_clock::time_point> step_began_;  ///< With current(), warm.
};

}  // namespace fastgpu::comm
