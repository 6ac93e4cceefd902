// New machines for lost nodes of a cluster in a cloud, ready for a job that is started again.
#pragma once

#include <vector>

#include "cli/program/context.hpp"
#include "launcher/job.hpp"

namespace fastgpu::cli {

/// Makes new machines for the nodes of a cluster in a cloud that are lost, under the same names,
/// and gives them the environment of the job. Asks the cloud which nodes are lost; the others stay
/// unchanged. Returns the nodes that were lost and run now. Throws as
/// provision::replace_lost_nodes(), and remote if the environment cannot be copied.
std::vector<NodeName> replace_for_job(Context& context, const state::Cluster& cluster,
                                      const launcher::JobSpec& spec);

/// Returns the environment of the cluster in which the program runs; "" for none.
std::string environment_of_program(const std::vector<std::string>& argv,
                                   const std::vector<std::pair<std::string, std::string>>& runners);

}  // namespace fastgpu::cli
