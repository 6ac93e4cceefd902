// The record that a rank leaves of its steps of gossip.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "comm/communicator/communicator.hpp"
#include "comm/gossip/gossip_report.hpp"
#include "comm/gossip/gossip_settings.hpp"
#include "comm/trace/rank_files.hpp"
#include "comm/trace/timeline.hpp"

namespace fastgpu::comm {

/// A writer of the files of settings.timeline and settings.counters, at the times of a Recorder.
class GossipRecorder {
 public:
  /// Makes a collective call if there is a timeline. Borrows the communicator.
  GossipRecorder(Communicator& control, const GossipSettings& settings, RankFiles::Warn warn,
                 Timeline::Clock::duration between_writes = std::chrono::seconds(10));
  GossipRecorder(const GossipRecorder&) = delete;
  GossipRecorder& operator=(const GossipRecorder&) = delete;
  ~GossipRecorder();

  /// Records a step that ends now.
  void step_ended(const GossipReport& report, Timeline::Clock::time_point began);

 private:
  void write();
  void write_counters();

  const Communicator& control_;
  Rank rank_;
  RankFiles counters_file_;
  RankFiles timeline_file_;
  std::chrono::nanoseconds ahead_{};
  std::optional<Timeline> timeline_;
  GossipReport last_{};
  std::uint64_t steps_ = 0;
  std::uint64_t exact_steps_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t actions_ = 0;  ///< Times that the guard has intervened.
  double seconds_ = 0;
  WriteSchedule schedule_;
};

}  // namespace fastgpu::comm
