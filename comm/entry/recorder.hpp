// What a rank leaves behind for whoever wants to know how its steps went.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/entry/settings.hpp"
#include "comm/trace/timeline.hpp"

namespace fastgpu::comm {

constexpr double seconds_of(Timeline::Clock::duration time) noexcept {
  return std::chrono::duration<double>(time).count();
}

struct LaneCounters {
  std::uint64_t buckets = 0;
  std::uint64_t bytes = 0;
  double wait_seconds = 0;  ///< In which the end of a step stood still for its buckets.
};

/// Of this rank, since the beginning.
struct EntryCounters {
  std::uint64_t steps = 0;
  std::uint64_t steps_without_results = 0;
  std::uint64_t buckets = 0;               ///< All-reduces that were started.
  std::uint64_t bucket_bytes = 0;          ///< Carried in them.
  std::uint64_t negotiation_messages = 0;  ///< Sent.
  std::uint64_t negotiation_bytes = 0;     ///< Sent.
  std::uint64_t late_ranks = 0;            ///< Heard of.
  double ready_seconds = 0;                ///< In ready: packing, and what moved meanwhile.
  double unpack_seconds = 0;
  double wait_seconds = 0;            ///< In wait_step.
  std::vector<LaneCounters> lanes{};  ///< Those that have carried something.
};

/// Writes rank-<number>.json in the folder settings.timeline, and rank-<number>.json and .prom in
/// settings.counters: when it ends, and before that every `between_writes`, or less often where
/// that would take more than a hundredth of the time. What a rank that was killed has left is not
/// older. At best, for nobody is told of failures.
class Recorder {
 public:
  /// A collective where there is a timeline: clocks are compared with that of rank 0.
  Recorder(Communicator& control, const EntrySettings& settings,
           Timeline::Clock::duration between_writes = std::chrono::seconds(10));
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  Timeline* timeline() noexcept { return timeline_ ? &*timeline_ : nullptr; }
  EntryCounters& counters() noexcept { return counters_; }
  LaneCounters& counters_of(std::size_t lane);
  void step_ended();
  void ranks_are_late();  ///< No step ends meanwhile: what was recorded up to here is looked for.

 private:
  void write_if_due();
  void write() const;
  void write_timeline() const;
  void write_counters() const;

  Rank rank_;
  std::string timeline_folder_;
  std::string counters_folder_;
  std::chrono::nanoseconds ahead_{};
  std::optional<Timeline> timeline_;
  EntryCounters counters_;
  Timeline::Clock::duration between_writes_;
  Timeline::Clock::time_point due_ = Timeline::Clock::now() + between_writes_;
};

}  // namespace fastgpu::comm
