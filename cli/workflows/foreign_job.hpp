// Jobs that another machine has started on a cluster.
#pragma once

#include <string>

#include "cli/workflows/services.hpp"

namespace fastgpu::cli {

/// Records the job of another machine as one of this machine, unless it is on record here. Throws
/// not_found if the cluster's nodes do not have it, usage if `id` is not an id such as "train-3",
/// and conflict if this machine has another job of this id.
void record_foreign_job(Services& services, const std::string& id, const std::string& cluster);

}  // namespace fastgpu::cli
