// Jobs that are remembered, and the way to them.
#pragma once

#include <string_view>
#include <vector>

#include "cli/context.hpp"
#include "launcher/job_runner.hpp"
#include "launcher/job_store.hpp"

namespace fastgpu::cli {

/// A job with what is needed to reach it.
struct OpenJob {
  state::Job job;
  launcher::JobRecord record;
  state::Cluster cluster;
};

/// The job that `name` means. Throws ErrorKind::not_found for an unknown one, conflict for one
/// whose cluster is gone and that therefore cannot be reached.
OpenJob open_job(Context& context, std::string_view name);

/// Throws conflict, with the command that helps, where a node of the job is stopped.
void require_running(Context& context, const OpenJob& open);

launcher::JobRunner runner_for(Context& context, const state::Cluster& cluster);

/// What the nodes say of a job that counts as unfinished, looked at for at most two seconds; where
/// it has ended, or its cluster is stopped or gone, that is written down. Returns the job as it is
/// now.
state::Job refresh_job(Context& context, const state::Job& job);

/// Jobs that count as running and belonged to a fastgpu that is no more.
std::vector<state::Job> abandoned_jobs(Context& context);

/// Stops what is left of such a job, and writes its end down. Throws where a node cannot be asked.
void end_abandoned(Context& context, const state::Job& abandoned);

}  // namespace fastgpu::cli
