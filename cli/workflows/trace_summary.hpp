// A summary of the timelines of all ranks: operations, steps, and the ranks that others waited for.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/workflows/comm_trace.hpp"

namespace fastgpu::cli {

/// All events of one name.
struct OperationSummary {
  std::string name{};
  std::size_t count = 0;
  std::uint64_t bytes = 0;   ///< The sum of those that are known.
  std::int64_t median = 0;   ///< Nanoseconds.
  std::int64_t longest = 0;  ///< Nanoseconds.
  int longest_rank = 0;      ///< The rank and the step of the longest.
  std::uint32_t longest_step = 0;
};

/// The wait of a rank for the last one to begin an operation. In each step a rank waits once: in
/// the operation in which it waited longest, because operations of a step wait at the same time.
struct StepWait {
  std::uint32_t step = 0;
  int rank = 0;
  int late_rank = 0;
  std::uint64_t number = 0;  ///< The number of the operation.
  std::int64_t length = 0;   ///< Nanoseconds, above 0.

  friend bool operator==(const StepWait&, const StepWait&) = default;
};

/// The waits of one rank for another, or of all ranks for one.
struct WaitSum {
  int rank = 0;  ///< The rank that waited; -1: all of them.
  int late_rank = 0;
  std::size_t steps = 0;
  std::int64_t total = 0;
  std::int64_t longest = 0;
};

struct StepSummary {
  std::uint32_t step = 0;
  std::size_t ranks = 0;    ///< The ranks that have events of this step.
  std::int64_t began = 0;   ///< The first event of any rank.
  std::int64_t ended = 0;   ///< The end of the last one.
  int late_rank = -1;       ///< The rank that others waited for most; -1: none waited.
  std::int64_t waited = 0;  ///< The longest wait for it.
};

/// The operations are sorted by frequency, 24 at most; steps and waits by their numbers and ranks;
/// sums of waits, by the late rank and by both ranks, have the longest first.
struct TraceSummary {
  std::vector<OperationSummary> operations{};
  std::vector<StepSummary> steps{};
  std::vector<StepWait> waits{};
  std::vector<WaitSum> late{};
  std::vector<WaitSum> pairs{};
};

TraceSummary summary_of(std::span<const RankTrace> traces);

}  // namespace fastgpu::cli
