// Follows a job to its end, and starts it again where it asks for that.
#pragma once

#include <functional>
#include <memory>

#include "cli/commands/job/job_result.hpp"
#include "cli/commands/job/job_start.hpp"

namespace fastgpu::cli {

/// Returns the engine for following a job to its end. One of a detached job waits longer for nodes
/// that do not answer: this machine may be cut off from them for a while.
std::unique_ptr<launcher::JobEngine> engine_to_follow(Context& context,
                                                      const state::Cluster& cluster,
                                                      const launcher::JobRecord& record);

/// Returns the nodes that the job may be started on again. Called after each bad end.
using FindTarget = std::function<RemoteTarget()>;

/// Called after each bad end of a run after which the job is started again, with the job as it
/// would be on record if it were not.
using WhenRunFailed = std::function<void(const state::Job& failed)>;

/// Follows the job as follow_job() does. After a bad end for which its specification asks for
/// another run, places its ranks on nodes that answer, waits for its turn and starts it again.
/// Returns the exit code of the last run. `started.open.record` has the variables of the ranks.
int follow_with_retries(Context& context, StartedJob& started, const FindTarget& find_target,
                        FollowOptions request, const WhenRunFailed& when_run_failed);

}  // namespace fastgpu::cli
