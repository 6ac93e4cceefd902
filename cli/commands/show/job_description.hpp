// The full description of a job, for people.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/commands/show/job_views.hpp"

namespace fastgpu::cli {

/// Returns the description of a job, with its times, its ranks on each node, and the place of its
/// logs. `before`: the ids of the jobs and arrays that it waits for.
Json description_of(const JobAndCluster& shown, const std::vector<std::string>& before,
                    state::TimePoint now);

/// Returns the place of the logs: "~/.fastgpu/jobs/train-1 on demo-[0-1]".
std::string place_of_logs(const state::Job& job);

}  // namespace fastgpu::cli
