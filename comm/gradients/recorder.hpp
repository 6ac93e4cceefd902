// The record that a rank leaves of its steps.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/gradients/gradient_settings.hpp"
#include "comm/trace/rank_record.hpp"
#include "comm/trace/timeline.hpp"

namespace fastgpu::comm {

constexpr double seconds_of(Timeline::Clock::duration time) noexcept {
  return std::chrono::duration<double>(time).count();
}

struct StreamCounters {
  std::uint64_t buckets = 0;
  std::uint64_t bytes = 0;
  double wait_seconds = 0;  ///< Time in which the end of a step waited for its buckets.
};

/// Counts of this rank, since the beginning.
struct GradientCounters {
  std::uint64_t steps = 0;
  std::uint64_t steps_without_results = 0;
  std::uint64_t buckets = 0;               ///< All-reduces that were started.
  std::uint64_t bucket_bytes = 0;          ///< Bytes in these all-reduces.
  std::uint64_t negotiation_messages = 0;  ///< Messages sent.
  std::uint64_t negotiation_bytes = 0;     ///< Bytes sent.
  std::uint64_t late_ranks = 0;            ///< Notices received of late ranks.
  double ready_seconds = 0;                ///< Time in ready: packing, and transfers meanwhile.
  double unpack_seconds = 0;
  double wait_seconds = 0;                ///< Time in wait_step.
  std::vector<StreamCounters> streams{};  ///< Streams that have carried data.

  /// Adds the counts of another exchange, but not those of its streams.
  void add(const GradientCounters& other) noexcept;
};

/// The counters and the timeline of this rank's steps, which a RankRecord writes.
class Recorder {
 public:
  using Warn = RankFiles::Warn;

  /// As RankRecord: makes a collective call if there is a timeline.
  Recorder(Communicator& control, const GradientSettings& settings, Warn warn = nullptr,
           Timeline::Clock::duration between_writes = std::chrono::seconds(10));

  Timeline* timeline() noexcept { return record_.timeline(); }
  GradientCounters& counters() noexcept { return counters_; }
  StreamCounters& counters_of(std::size_t stream);
  void step_ended();
  void ranks_are_late();  ///< Writes if it is time for it, because no step ends meanwhile.

 private:
  GradientCounters counters_;
  RankRecord record_;  ///< Ends first: it writes the counters then.
};

}  // namespace fastgpu::comm
