// The full description of a job, for people.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/commands/show/job_views.hpp"

namespace fastgpu::cli {

/// Returns the description of a job, with its times, its ranks on each node, and the place of its
/// logs. `waits_for`: what it waits for, in words; empty for nothing.
Json description_of(const JobAndCluster& shown, const std::string& waits_for, state::TimePoint now);

/// Returns the place of the logs: "~/.fastgpu/jobs/train-1 on demo-[0-1]".
std::string place_of_logs(const state::Job& job);

}  // namespace fastgpu::cli
