// The engine Slurm: jobs are submitted on a cluster's first node, and run on nodes that Slurm
// chooses.
#pragma once

#include <chrono>
#include <memory>

#include "launcher/job_engine.hpp"
#include "launcher/mpirun_engine.hpp"

namespace fastgpu::launcher {

struct SlurmTimes {
  std::chrono::milliseconds between_questions{2'000};
  /// Following a job ends with an error once the controller has not answered for this long.
  std::chrono::milliseconds controller_timeout{60'000};
};

/// Returns the engine that submits jobs on `head`. The nodes of Slurm share its home directory: the
/// ranks find their plan there, and write their logs there. Borrows `client`; `asking` is for
/// questions to Slurm while `client` follows logs.
std::unique_ptr<JobEngine> make_slurm_engine(ssh::Client& client,
                                             std::unique_ptr<ssh::Client> asking, ClusterNode head,
                                             RunnerOptions options, SlurmTimes times = {});

}  // namespace fastgpu::launcher
