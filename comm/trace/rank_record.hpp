// The timeline and the counters that a rank leaves in the folders of its settings.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/trace/counters.hpp"
#include "comm/trace/rank_files.hpp"
#include "comm/trace/timeline.hpp"

namespace fastgpu::comm {

/// The folders for the files of all ranks, by the values of FASTGPU_COMM_TIMELINE and
/// FASTGPU_COMM_COUNTERS; empty: no such files.
struct RecordFolders {
  std::string timeline;
  std::string counters;
};

/// A writer of rank-<number>.json in the folder of timelines, and of rank-<number>.json and .prom
/// in that of counters, with the counts of the rank's links. It writes when it ends, and before
/// that every `between_writes`, or less often if that would take more than a hundredth of the time:
/// the files of a rank that is killed are not older.
class RankRecord {
 public:
  using Counts = std::function<std::vector<Counter>()>;

  /// Makes a collective call if there is a timeline: clocks are compared with that of rank 0.
  /// Borrows the communicator. `counts` returns the counters of this moment, also in the
  /// destructor. `warn` gets a sentence, once for each folder that cannot be written to.
  RankRecord(Communicator& control, const RecordFolders& folders, RankFiles::Warn warn,
             Timeline::Clock::duration between_writes, Counts counts);
  RankRecord(const RankRecord&) = delete;
  RankRecord& operator=(const RankRecord&) = delete;
  ~RankRecord();

  /// Returns null if no timeline is wanted.
  Timeline* timeline() noexcept { return timeline_ ? &*timeline_ : nullptr; }

  void write_if_due();

 private:
  void write();
  void write_counters();

  const Communicator& control_;
  Rank rank_;
  RankFiles counters_file_;
  RankFiles timeline_file_;
  std::chrono::nanoseconds ahead_{};  ///< The time by which this rank's clock is ahead of rank 0's.
  std::optional<Timeline> timeline_;
  WriteSchedule schedule_;
  Counts counts_;
};

}  // namespace fastgpu::comm
