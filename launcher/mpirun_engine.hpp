// The engine mpirun: starts, follows and stops jobs on a cluster, and reads what they left.
#pragma once

#include <memory>
#include <vector>

#include "launcher/cluster_nodes.hpp"
#include "launcher/job_engine.hpp"
#include "launcher/runner_options.hpp"
#include "ssh/client.hpp"

namespace fastgpu::launcher {

/// Returns the engine for the nodes of a cluster: mpirun, under a supervisor on a job's first node.
/// Takes all `nodes` of the cluster; a job uses those of its placement. Borrows `client`.
std::unique_ptr<JobEngine> make_mpirun_engine(ssh::Client& client, std::vector<ClusterNode> nodes,
                                              ClusterAccess access, RunnerOptions options);

}  // namespace fastgpu::launcher
