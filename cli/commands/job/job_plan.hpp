// The plan of a job, which run job --dry-run shows.
#pragma once

#include <optional>
#include <span>

#include "cli/commands/job/run_array.hpp"
#include "cli/program/context.hpp"
#include "cli/workflows/remote_target.hpp"
#include "launcher/binding.hpp"
#include "launcher/job.hpp"

namespace fastgpu::cli {

/// The parts of a plan beside the record of the job.
struct PlanParts {
  std::optional<ArrayPlan> array{};
  std::span<const launcher::NodeTopology> topologies{};  ///< Those of a job with --per.
};

/// Shows what would be started. Returns the exit code.
int show_job_plan(Context& context, const RemoteTarget& target, const launcher::JobRecord& record,
                  const PlanParts& parts);

}  // namespace fastgpu::cli
