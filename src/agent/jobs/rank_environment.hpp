// The place of a rank in its job, and the variables that its program gets.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agent/protocol/plan.hpp"

namespace fastgpu::agent {

struct PlaceInJob {
  int rank, local_rank, size;
};

/// Returns the place that the launcher has set in the environment. Throws ErrorKind::usage without
/// one.
PlaceInJob find_place_in_job();

/// Parses "RANK:LOCAL_RANK:WORLD_SIZE". Throws ErrorKind::usage for any other text.
PlaceInJob parse_place_in_job(const std::string& text);

/// Returns the number of ranks that Slurm has placed on this node; absent if it is not known.
std::optional<int> slurm_ranks_here(const JobPlan& plan);

/// Returns the environment of the rank's program: that of this process, what programs read to find
/// their place, network and processors, and the job's variables. `directory` is that of the job on
/// this node.
std::vector<std::string> rank_environment(const std::filesystem::path& directory,
                                          const JobPlan& plan, const PlaceInJob& place);

}  // namespace fastgpu::agent
