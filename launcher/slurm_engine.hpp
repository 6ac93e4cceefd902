// The engine Slurm: jobs are submitted on a cluster's first node, and run on nodes that Slurm
// chooses.
#pragma once

#include <memory>
#include <vector>

#include "launcher/cluster_nodes.hpp"
#include "launcher/job_engine.hpp"
#include "launcher/runner_options.hpp"
#include "launcher/slurm_watch.hpp"

namespace fastgpu::launcher {

/// The nodes that fastgpu reaches.
struct SlurmSite {
  ClusterNode head{};  ///< It submits jobs.
  /// All other nodes, if each has a home directory of its own. Empty if the nodes of Slurm share
  /// the home directory of the head.
  std::vector<ClusterNode> others{};
};

/// Returns the engine that submits jobs on the head of `site`. Ranks find their plan in their home
/// directory, and write their logs there. Borrows `client`; `asking` is for questions to Slurm
/// while `client` follows logs.
std::unique_ptr<JobEngine> make_slurm_engine(ssh::Client& client,
                                             std::unique_ptr<ssh::Client> asking, SlurmSite site,
                                             RunnerOptions options, SlurmTimes times = {});

}  // namespace fastgpu::launcher
