// The engine Slurm: jobs are submitted on a cluster's first node, and run on nodes that Slurm
// chooses.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "launcher/cluster_nodes.hpp"
#include "launcher/job_engine.hpp"
#include "launcher/runner_options.hpp"

namespace fastgpu::launcher {

struct SlurmTimes {
  /// Before Slurm is asked about a job that is followed, unless a rank fails sooner. The end of a
  /// job that succeeds sooner is in its record.
  std::chrono::milliseconds before_first_look{1'000};
  std::chrono::milliseconds before_next_try{2'000};  ///< After a question without an answer.
  /// Following a job ends with an error once the controller has not answered for this long.
  std::chrono::milliseconds controller_timeout{60'000};
};

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
