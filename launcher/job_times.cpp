#include "launcher/job_times.hpp"

#include <algorithm>
#include <cstdint>

#include "state/model.hpp"

namespace fastgpu::launcher {

using state::JobState;
using state::TimePoint;
using std::chrono::milliseconds;

JobCourse course_of(const state::Job& job) {
  return {.state = job.state,
          .created = job.created,
          .ended = job.ended,
          .start = state::recorded_start(job)};
}

std::optional<TimePoint> beginning_of(const JobCourse& job) {
  if (job.start.started) return std::max(*job.start.started, job.created);
  const bool waits = job.state == JobState::queued || job.state == JobState::starting;
  if (waits || job.start.never_began) return std::nullopt;
  return job.created;
}

milliseconds run_time_of(const JobCourse& job, TimePoint now) {
  const auto began = beginning_of(job);
  if (!began) return milliseconds(0);
  const TimePoint end = std::max(job.ended.value_or(now), *began);
  return std::chrono::duration_cast<milliseconds>(end - *began);
}

std::optional<TimePoint> first_beginning(std::span<const agent::RankEnd> ranks) {
  std::int64_t first = 0;
  for (const agent::RankEnd& rank : ranks)
    if (rank.began != 0 && (first == 0 || rank.began < first)) first = rank.began;
  if (first == 0) return std::nullopt;
  return TimePoint(
      std::chrono::duration_cast<TimePoint::duration>(std::chrono::nanoseconds(first)));
}

}  // namespace fastgpu::launcher
