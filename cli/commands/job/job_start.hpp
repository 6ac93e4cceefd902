// A job on its way to the nodes: placed, recorded, its files copied, started.
#pragma once

#include <memory>

#include "cli/commands/node/remote_output.hpp"
#include "cli/workflows/job_access.hpp"
#include "cli/workflows/job_owner.hpp"
#include "cli/workflows/remote_target.hpp"

namespace fastgpu::cli {

/// Places a job; `spec` has been validated. Throws ErrorKind::usage for more ranks than there is
/// room for.
launcher::JobRecord placed_on(const RemoteTarget& target, launcher::JobSpec spec);

/// A job that runs; it is ours, and ends with us, for as long as `owner` lives.
struct StartedJob {
  launcher::JobRunner runner;
  OpenJob open;
  std::unique_ptr<JobOwner> owner;
};

/// Starts the job, after its files are copied. If this fails it counts as ended, and the reason is
/// thrown.
StartedJob start_job(Context& context, const RemoteTarget& target,
                     const launcher::JobRecord& record);

}  // namespace fastgpu::cli
