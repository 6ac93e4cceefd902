// The number of tasks that a step in Slurm has on each node. Pure.
#pragma once

#include <string_view>
#include <vector>

namespace fastgpu::agent {

/// The variable in which srun tells each task how many there are on each node.
inline constexpr const char* kSlurmTasks = "SLURM_STEP_TASKS_PER_NODE";

/// Returns the number of tasks of each node from "2(x3),1": {2, 2, 2, 1}. Empty for any other text,
/// and for numbers beyond those of a job.
std::vector<int> parse_slurm_tasks(std::string_view text);

}  // namespace fastgpu::agent
