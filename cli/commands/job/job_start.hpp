// Starts a job on nodes: places its ranks, records it, copies its files, and runs it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "cli/commands/node/remote_output.hpp"
#include "cli/workflows/job_access.hpp"
#include "cli/workflows/job_owner.hpp"
#include "cli/workflows/job_queue.hpp"
#include "cli/workflows/remote_target.hpp"

namespace fastgpu::cli {

/// Returns what becomes of a "job" or "array" of mpirun that Ctrl-C, pressed twice, leaves alone,
/// and the command that waits for its end.
std::string words_for_parting(const std::string& kind, const std::string& id,
                              std::chrono::milliseconds grace);

/// Places the ranks of a valid `spec` on the nodes, on free slots if all fit there. Throws
/// ErrorKind::usage if there are not enough slots at all, and conflict if a node of this machine
/// that gets ranks has been stopped.
launcher::JobRecord placed_on(Context& context, const RemoteTarget& target, launcher::JobSpec spec);

/// A job that is not on record.
struct NewJob {
  launcher::JobRecord record;  ///< The record; ranks have cores and GPUs if it may start now.
  launcher::Turn turn;
};

/// Returns the job as it would start, or what it would wait for, if it was recorded now.
NewJob new_job(Context& context, const RemoteTarget& target, const launcher::JobRecord& record);

/// A running job. It is attached to this process while `owner` lives.
struct StartedJob {
  std::unique_ptr<launcher::JobEngine> engine;
  OpenJob open;
  std::unique_ptr<JobOwner> owner;
};

/// Waits for the job's turn, copies its files and starts it. If that fails, records the job as
/// ended and throws the reason; a wrong request to a scheduler is not kept. A job that may run all
/// the same stays on record as one that is starting, and JobMayRun is thrown, which names the
/// commands that reach it. A job whose id the nodes know from elsewhere gets another number, unless
/// there is `when_recorded`, which is called before the wait, once.
StartedJob start_job(Context& context, const RemoteTarget& target,
                     const launcher::JobRecord& record,
                     const std::function<void(const state::Job&)>& when_recorded = {});

/// Does the same for an element of an array, which is on record as `id`. Its array's process owns
/// it.
StartedJob start_element(Context& context, const RemoteTarget& target,
                         const launcher::JobRecord& record, const std::string& id);

/// Starts the next run of a job that has ended badly: `started.open.record` has its new placement.
/// Waits for its turn. Afterwards `started.engine` is not one that follows. Throws interrupted if
/// the job was cancelled.
void start_again(Context& context, const RemoteTarget& target, StartedJob& started);

}  // namespace fastgpu::cli
