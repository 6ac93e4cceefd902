// Follows a job to its end and shows the outcome.
#pragma once

#include <functional>
#include <optional>

#include "cli/commands/job/job_output.hpp"
#include "cli/workflows/job_access.hpp"

namespace fastgpu::cli {

struct FollowOptions {
  launcher::OnCancel on_cancel = launcher::OnCancel::leave_job;
  RankLabels labels = RankLabels::shown;
  bool output = true;
  std::optional<agent::Tail> tail{};
  bool sorts_backlog = false;  ///< Shows output that is there already in the order of time.
  remote::SharedInput* input = nullptr;  ///< The input for rank 0 or all ranks; null for none.
  /// Called with the outcome before it is recorded, to which it may add. If it returns true, the
  /// job goes on: its end is not recorded.
  std::function<bool(launcher::JobOutcome&)> goes_on{};
  /// Called with the job that has ended, before its outcome is shown; returns the job to show.
  std::function<state::Job(const state::Job&)> before_shown{};
  /// After this time the job is left alone and timeout is thrown; absent for no limit.
  std::optional<std::chrono::milliseconds> timeout{};
};

/// Returns the failure of a command that could not follow its job any more. A job that goes on is
/// recorded as one that does so without this process, and the failure names the commands that reach
/// it. That of a job that had ended before names the nodes that lack its folder, if some do.
/// `on_cancel` is that of the following. A job of mpirun that was to be stopped ends by itself.
Error left_behind(Context& context, const OpenJob& open, launcher::OnCancel on_cancel,
                  const Error& error);

/// Returns the job as it is after the end of its run, if the fastgpu that runs it decides about
/// another run; absent for other jobs. Waits for the decision, and shows that the job was started
/// again.
std::optional<OpenJob> next_run(Context& context, const OpenJob& open);

/// Follows the job to its end and records the end. `output` shows the ranks' output. A job that the
/// fastgpu that runs it starts again is followed in its next run, too. Absent if the reader of our
/// output is gone.
std::optional<state::Job> follow_to_end(Context& context, launcher::JobEngine& engine,
                                        const OpenJob& open, const FollowOptions& request,
                                        JobOutput& output);

/// Follows the job to its end and shows the outcome. Returns the job's exit code; that of a job
/// that goes on is 0.
int follow_job(Context& context, launcher::JobEngine& engine, const OpenJob& open,
               const FollowOptions& request);

/// Returns the error for a job that has failed, by its exit code.
Error failure_of(const state::Job& job);

/// Shows the outcome of a job that has ended. Returns the job's exit code.
int show_ended(Context& context, const state::Job& job, const std::string& cluster);

/// Shows people the last lines of the rank that failed first, for a command that has not shown the
/// output of the job.
void show_last_lines(Context& context, const state::Job& job);

/// Shows how to follow a detached job. Returns 0.
int show_detached(Context& context, const state::Job& job);

}  // namespace fastgpu::cli
