// The time that the timeline and the charts of a job's report show.
#pragma once

#include <cstdint>

#include "cli/workflows/job_evidence.hpp"

namespace fastgpu::cli {

/// The time that charts show, in nanoseconds since 1970.
struct ChartSpan {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Returns the span from the first moment to the last one that the nodes have reported: the begins
/// and ends of ranks, samples and measures. Their clocks may be minutes apart from ours, so that no
/// moment of ours is among them. For a job that runs without samples, and for one without any
/// report of its nodes, the span has the length of the job by our clock up to `now`.
ChartSpan span_of(const JobEvidence& evidence, state::TimePoint now);

}  // namespace fastgpu::cli
