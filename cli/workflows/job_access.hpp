// Recorded jobs, and the access to them.
#pragma once

#include <string_view>
#include <vector>

#include "cli/workflows/services.hpp"
#include "launcher/job_runner.hpp"
#include "launcher/job_store.hpp"

namespace fastgpu::cli {

/// A job with the data that is needed to reach it.
struct OpenJob {
  state::Job job;
  launcher::JobRecord record;
  state::Cluster cluster;
};

/// Returns the job that `name` means. Throws ErrorKind::not_found for an unknown one, conflict for
/// one whose cluster is gone and that therefore cannot be reached.
OpenJob open_job(Services& services, std::string_view name);

/// Throws conflict, with the command that helps, if a node of the job is stopped.
void require_running(Services& services, const OpenJob& open);

launcher::JobRunner runner_for(Services& services, const state::Cluster& cluster);

/// Asks the nodes about a job that counts as unfinished, for at most two seconds. If it has ended,
/// or its cluster is stopped or gone, that is recorded. Returns the job in its present state.
state::Job refresh_job(Services& services, const state::Job& job);

/// Returns jobs that count as running and belonged to a fastgpu that has ended.
std::vector<state::Job> abandoned_jobs(Services& services);

/// Stops the rest of such a job, and records its end. Throws if a node cannot be asked.
void end_abandoned(Services& services, const state::Job& abandoned);

}  // namespace fastgpu::cli
