// Starts a job on nodes: places its ranks, records it, copies its files, and runs it.
#pragma once

#include <memory>

#include "cli/commands/node/remote_output.hpp"
#include "cli/workflows/job_access.hpp"
#include "cli/workflows/job_owner.hpp"
#include "cli/workflows/remote_target.hpp"

namespace fastgpu::cli {

/// Places the ranks of a valid `spec` on the nodes. Throws ErrorKind::usage if there are not enough
/// slots.
launcher::JobRecord placed_on(const RemoteTarget& target, launcher::JobSpec spec);

/// A running job. It is attached to this process while `owner` lives.
struct StartedJob {
  launcher::JobRunner runner;
  OpenJob open;
  std::unique_ptr<JobOwner> owner;
};

/// Copies the job's files and starts it. If that fails, records the job as ended and throws the
/// reason.
StartedJob start_job(Context& context, const RemoteTarget& target,
                     const launcher::JobRecord& record);

}  // namespace fastgpu::cli
