// The plan of a job, which run job --dry-run shows.
#pragma once

#include <optional>

#include "cli/commands/job/run_array.hpp"
#include "cli/program/context.hpp"
#include "cli/workflows/remote_target.hpp"
#include "launcher/job.hpp"

namespace fastgpu::cli {

/// Shows what would be started: a job, or an array of jobs. Returns the exit code.
int show_job_plan(Context& context, const RemoteTarget& target, const launcher::JobRecord& record,
                  const std::optional<ArrayPlan>& array);

}  // namespace fastgpu::cli
