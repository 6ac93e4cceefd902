// The record that a rank leaves of its steps of gossip.
#pragma once

#include <chrono>
#include <cstdint>

#include "comm/communicator/communicator.hpp"
#include "comm/gossip/gossip_report.hpp"
#include "comm/gossip/gossip_settings.hpp"
#include "comm/trace/rank_record.hpp"
#include "comm/trace/timeline.hpp"

namespace fastgpu::comm {

/// Counts of this rank's steps of gossip, since the beginning.
struct GossipCounters {
  std::uint64_t steps = 0;
  std::uint64_t exact_steps = 0;    ///< Steps that averaged exactly.
  std::uint64_t bytes = 0;          ///< Bytes sent to other members.
  std::uint64_t interventions = 0;  ///< Times that the guard has intervened.
  double seconds = 0;               ///< Time in these steps.
  GossipReport last{};              ///< The report of the last step.
};

/// The counters and the timeline of this rank's steps of gossip, which a RankRecord writes.
class GossipRecorder {
 public:
  /// As RankRecord: makes a collective call if there is a timeline.
  GossipRecorder(Communicator& control, const GossipSettings& settings, RankFiles::Warn warn,
                 Timeline::Clock::duration between_writes = std::chrono::seconds(10));

  /// Records a step that ends now.
  void step_ended(const GossipReport& report, Timeline::Clock::time_point began);

 private:
  GossipCounters counters_;
  RankRecord record_;  ///< Ends first: it writes the counters then.
};

}  // namespace fastgpu::comm
