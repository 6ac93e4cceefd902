// When a job began, and how long it has run.
#pragma once

#include <chrono>
#include <optional>
#include <span>

#include "agent/protocol/status.hpp"
#include "launcher/job.hpp"
#include "state/model.hpp"

namespace fastgpu::launcher {

/// The parts of a job that its times follow from.
struct JobCourse {
  state::JobState state = state::JobState::queued;
  state::TimePoint created{};
  std::optional<state::TimePoint> ended{};
  state::RecordedStart start{};
};

JobCourse course_of(const state::Job& job);

/// Returns when the ranks of a job began; absent before that. The record of an older fastgpu does
/// not have this time: then it is when the job was created.
std::optional<state::TimePoint> beginning_of(const JobCourse& job);

/// Returns the time from the beginning to the end, or until `now`; 0 for a job that has not begun.
std::chrono::milliseconds run_time_of(const JobCourse& job, state::TimePoint now);

/// Returns when the first of these ranks began, by the clock of its report; absent if it is
/// unknown.
std::optional<state::TimePoint> first_beginning(std::span<const agent::RankEnd> ranks);

}  // namespace fastgpu::launcher
