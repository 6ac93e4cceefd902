// The folders of jobs on a node.
#pragma once

#include "agent/protocol/job_folder.hpp"
#include "launcher/fan_out.hpp"

namespace fastgpu::launcher {

/// Returns what a node has answered to `job-folders`. Throws the error of the node, and remote for
/// an answer that makes no sense.
agent::JobFolders folders_of_jobs(const NodeAnswer& answer);

}  // namespace fastgpu::launcher
