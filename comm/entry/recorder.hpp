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

/// Writes rank-<number>.json in the folder settings.timeline when it ends, and rank-<number>.json
/// and .prom in settings.counters, there every ten seconds too: at best, for nobody is told of
/// failures.
class Recorder {
 public:
  /// A collective where there is a timeline: clocks are compared with that of rank 0.
  Recorder(Communicator& control, const EntrySettings& settings);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  Timeline* timeline() noexcept { return timeline_ ? &*timeline_ : nullptr; }
  EntryCounters& counters() noexcept { return counters_; }
  LaneCounters& counters_of(std::size_t lane);
  void step_ended();

 private:
  void write_timeline() const;
  void write_counters() const;

  Rank rank_;
  std::string timeline_folder_;
  std::string counters_folder_;
  std::chrono::nanoseconds ahead_{};
  std::optional<Timeline> timeline_;
  EntryCounters counters_;
  Timeline::Clock::time_point written_ = Timeline::Clock::now();  ///< The counters were.
};

}  // namespace fastgpu::comm
