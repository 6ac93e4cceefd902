#include "cli/commands/job/job_result.hpp"

#include "base/outcome.hpp"
#include "base/units.hpp"
#include "cli/commands/job/merged_output.hpp"
#include "cli/commands/job/running_on.hpp"
#include "cli/commands/node/remote_output.hpp"
#include "cli/commands/show/job_views.hpp"
#include "cli/commands/show/views.hpp"
#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/removed_folders.hpp"
#include "cli/workflows/silent_nodes.hpp"
#include "launcher/linked_cancel.hpp"
#include "launcher/process_names.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {

int show_ended(Context& context, const state::Job& job, const std::string& cluster) {
  Ui& ui = context.ui();
  const int code = job.exit_code.value_or(1);
  if (!ui.for_people()) {
    Json fields = to_json(job);
    fields["cluster"] = cluster;
    ui.show(view_of_one("job", fields, job.id));
  } else if (job.state != state::JobState::succeeded) {
    const std::string_view word = state::to_string(job.state);
    const bool explains = !job.reason.empty() && job.reason != word;
    ui.error_data("job " + job.id + " " + std::string(word) + (explains ? ": " + job.reason : "") +
                  "\n");
  } else if (!job.reason.empty()) {
    ui.warn("job " + job.id + " succeeded, but " + job.reason);
  }
  return code;
}

void show_last_lines(Context& context, const state::Job& job) try {
  const auto& failure = job.record->failure;
  if (!context.ui().for_people() || !failure || failure->last_lines.empty()) return;
  const bool is_torchrun = launcher::is_of_torchrun(job.record->placement);
  std::string text = "the last lines of " +
                     (is_torchrun ? "torchrun on " + failure->node.value
                                  : "rank " + std::to_string(failure->rank)) +
                     ":\n";
  for (const std::string& line : failure->last_lines)
    text += "  " + line + "\n";
  context.ui().error_data(text);
} catch (const Error&) {  // The record cannot be read.
  return;
}

Error failure_of(const state::Job& job) {
  ErrorKind kind = ErrorKind::remote;
  for (const ErrorKind one :
       {ErrorKind::usage, ErrorKind::capacity, ErrorKind::timeout, ErrorKind::interrupted})
    if (job.exit_code == exit_code(one)) kind = one;
  return {kind, "job " + job.id + ": " + (job.reason.empty() ? "it failed" : job.reason)};
}

namespace {

/// Returns true if the end of this process does not end the job.
bool goes_on_without_us(const OpenJob& open, launcher::OnCancel on_cancel) {
  return on_cancel == launcher::OnCancel::leave_job ||
         open.record.spec.engine != launcher::EngineKind::mpirun;
}

/// Follows the next run of a job, unless it has ended without one.
std::optional<state::Job> follow_next(Context& context, const OpenJob& next,
                                      const FollowOptions& request, JobOutput& output) {
  if (launcher::has_ended(next.job)) return next.job;
  const auto engine = engine_for(context, next.cluster, next.record);
  return follow_to_end(context, *engine, next, request, output);
}

/// Returns what a job that has not ended does, for the end of a wait: "it is still running".
std::string present_state(Context& context, launcher::JobEngine& engine, const OpenJob& open) {
  constexpr const char* kRuns = "it is still running";
  if (const auto absence = absence_of_nodes(context, open)) return absence->what();
  if (open.record.spec.engine == launcher::EngineKind::mpirun) return kRuns;
  const auto glance = attempt([&] { return engine.glance(open.run(), open.record); });
  return glance.ok() && glance.value().waits ? "it " + glance.value().reason : kRuns;
}

/// Returns true if the words of mpirun would only repeat the outcome at greater length.
bool is_explained(const launcher::JobOutcome& outcome) {
  using launcher::JobEndCause;
  return outcome.first_rank || outcome.explains_launcher ||
         outcome.state != state::JobState::failed || outcome.cause == JobEndCause::timeout ||
         outcome.cause == JobEndCause::hang;
}

/// Returns true if the loss of nodes may be the cause of the end.
bool may_lack_nodes(const launcher::JobOutcome& outcome) {
  using launcher::JobEndCause;
  if (outcome.state == state::JobState::lost) return true;
  if (outcome.state != state::JobState::failed) return false;
  const bool is_killed = outcome.failure && !outcome.failure->signal.empty();
  return outcome.cause == JobEndCause::launcher || outcome.cause == JobEndCause::node_loss ||
         is_killed;
}

/// Explains the end by the command that took the nodes of the job, as `wait job` does.
void explain_loss(Context& context, const OpenJob& open, launcher::JobOutcome& outcome) {
  if (!may_lack_nodes(outcome)) return;
  if (auto cause = outcome_of_lost_nodes(context, open.job)) outcome = std::move(*cause);
}

/// Reports the nodes whose output is not shown, because the folder of the job is gone there.
void warn_of_missing_folders(Context& context, const OpenJob& open,
                             const launcher::JobOutcome& outcome) {
  if (outcome.without_folder.empty()) return;
  context.ui().warn(text_of_removed_folder(context, open, outcome.without_folder) +
                    "; the output of the ranks there is not shown");
}

}  // namespace

std::optional<OpenJob> next_run(Context& context, const OpenJob& open) {
  if (!is_restarted_by_its_owner(context, open.job)) return std::nullopt;
  for (;;) {
    const auto stored = context.store().find_job(open.job.id);
    if (!stored) return std::nullopt;
    const launcher::JobRecord& record = *stored->record;
    const bool has_begun_again =
        stored->state == state::JobState::running && record.restarts > open.record.restarts;
    if (has_begun_again)
      context.ui().note("job " + stored->id + " was started again, " +
                        std::to_string(record.restarts) + " of " +
                        std::to_string(record.spec.retries) + " (" +
                        std::string(state::to_string(record.cause)) + ")");
    if (launcher::has_ended(*stored) || has_begun_again) return open_job(context, open.job.id);
    if (!is_restarted_by_its_owner(context, *stored)) return std::nullopt;
    context.cancel().check();
    context.clock().sleep(std::chrono::milliseconds(300));
  }
}

Error left_behind(Context& context, const OpenJob& open, launcher::OnCancel on_cancel,
                  const Error& error) {
  if (launcher::has_ended(open.job)) return removed_or(context, open, error);
  if (!goes_on_without_us(open, on_cancel)) return error;
  if (on_cancel == launcher::OnCancel::stop_job) {
    state::Job job = open.job;
    launcher::JobRecord record = *job.record;
    record.spec.presence = launcher::Presence::detached;
    job.record = std::move(record);
    context.store().update_job(job);
  }
  // The engine's own words for an interruption have it already, and a final answer may be that the
  // job does not exist.
  const bool is_left = on_cancel == launcher::OnCancel::leave_job;
  const bool is_final = error.kind() == ErrorKind::interrupted || error.kind() == ErrorKind::remote;
  if (is_left && is_final) return error;
  return with_job_that_goes_on(error, open.job.id);
}

std::optional<state::Job> follow_to_end(Context& context, launcher::JobEngine& engine,
                                        const OpenJob& open, const FollowOptions& request,
                                        JobOutput& output) {
  const HeartbeatPtr heartbeat = start_heartbeat(context, open.cluster);
  launcher::FollowingOptions options;
  options.data = request.output;
  options.backlog_first = request.sorts_backlog;
  options.are_nodes_gone = [&] { return outcome_of_lost_nodes(context, open.job).has_value(); };
  options.tail = request.tail;
  options.input = request.input;
  options.input_to = open.record.spec.input;
  const bool ours = request.on_cancel == launcher::OnCancel::stop_job;
  options.renew_lease = ours ? launcher::Renewal::yes : launcher::Renewal::no;
  launcher::JobOutcome outcome;
  MergedOutput merged(output, Merging::backlog);
  const launcher::LinkedCancel stop(context.cancel(),
                                    request.timeout.value_or(std::chrono::milliseconds(-1)));
  try {
    outcome =
        engine.follow(open.run(), open.record, request.on_cancel, options, merged, stop.both());
  } catch (const Error& e) {
    merged.finish();
    output.finish(LauncherWords::shown);
    if (stop.timed_out() && e.kind() == ErrorKind::interrupted)
      throw Error(ErrorKind::timeout, "job " + open.job.id + " has not ended after " +
                                          to_string(*request.timeout) + "; " +
                                          present_state(context, engine, open));
    if (!goes_on_without_us(open, request.on_cancel)) {  // We have stopped the job.
      state::Job job = open.job;
      launcher::mark_ended(
          context.store(), job,
          {.state = state::JobState::failed, .exit_code = exit_code(e.kind()), .reason = e.what()});
    }
    const Error failure = left_behind(context, open, request.on_cancel, e);
    if (output.closed()) return std::nullopt;
    throw Error(failure);
  }
  merged.finish();
  explain_loss(context, open, outcome);
  output.finish(is_explained(outcome) ? LauncherWords::dropped : LauncherWords::shown);
  if (request.output) warn_of_missing_folders(context, open, outcome);
  if (request.goes_on && request.goes_on(outcome)) return open.job;
  if (!request.goes_on)
    if (const auto next = next_run(context, open))
      return follow_next(context, *next, request, output);
  // Another fastgpu may have recorded more, or the end, meanwhile.
  state::Job job = context.store().find_job(open.job.id).value_or(open.job);
  note_undone(context, job, outcome);
  launcher::mark_ended(context.store(), job, outcome);
  note_unanswered(context, job.cluster, outcome);
  if (output.closed()) return std::nullopt;
  return job;
}

int follow_job(Context& context, launcher::JobEngine& engine, const OpenJob& open,
               const FollowOptions& request) {
  context.ui().waiting("waiting for job " + open.job.id + " to end");
  if (request.on_cancel == launcher::OnCancel::stop_job)
    context.set_stop_notice(
        "stopping job " + open.job.id + "; press Ctrl-C again to exit at once (the job then " +
        (open.record.spec.engine == launcher::EngineKind::mpirun ? "stops on its own)"
                                                                 : "goes on)"));
  JobOutput output(context, request.labels, open.record.spec);
  auto job = follow_to_end(context, engine, open, request, output);
  if (!job) return kBrokenPipe;
  const bool goes_on = !launcher::has_ended(*job);
  if (!goes_on && request.before_shown) job = request.before_shown(*job);
  return output.exit_code_after(goes_on ? 0 : show_ended(context, *job, open.cluster.name.value));
}

int show_detached(Context& context, const state::Job& job) {
  Ui& ui = context.ui();
  if (!ui.for_people()) {
    ui.show(view_of_one("job", to_json(job), job.id));
    return 0;
  }
  ui.data(job.id + "\n");
  ui.next_steps({"fastgpu logs " + job.id + " -f", "fastgpu wait job " + job.id,
                 "fastgpu cancel job " + job.id});
  return 0;
}

}  // namespace fastgpu::cli
