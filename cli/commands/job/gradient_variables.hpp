// The variables of libfastgpu_comm that a job gets by default for the machines of its cluster.
#pragma once

#include <string>
#include <vector>

#include "state/model.hpp"

namespace fastgpu::cli {

/// Adds FASTGPU_COMM_FUSION and FASTGPU_COMM_LANES for the instance type of a cluster in a cloud,
/// each unless the job has it or the variable of Perseus that is read in its place.
void add_gradient_variables(const state::Cluster& cluster, std::vector<std::string>& environment);

}  // namespace fastgpu::cli
