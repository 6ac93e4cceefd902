// The check, before a job starts, that its nodes have what it needs. It starts and changes nothing.
#pragma once

#include <optional>

#include "base/cancel.hpp"
#include "launcher/cluster_nodes.hpp"
#include "launcher/job_files_request.hpp"
#include "launcher/job_outcome.hpp"
#include "launcher/runner_options.hpp"
#include "ssh/client.hpp"

namespace fastgpu::launcher {

/// Checks that the nodes answer and reach each other, and that mpirun, the working directory and a
/// program that is named by a path exist. Returns the outcome of ranks that could not begin; absent
/// if they could. Throws as the start of the job does.
std::optional<JobOutcome> try_on_nodes(ssh::Client& client, const ClusterNodes& nodes,
                                       const RunnerOptions& options, const JobFilesRequest& request,
                                       const Cancel& cancel);

}  // namespace fastgpu::launcher
