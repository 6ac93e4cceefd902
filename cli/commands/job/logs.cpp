#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/join.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/job/folded_output.hpp"
#include "cli/commands/job/job_output.hpp"
#include "cli/commands/job/job_result.hpp"
#include "cli/commands/job/log_document.hpp"
#include "cli/commands/job/merged_output.hpp"
#include "cli/commands/job/recorded_job.hpp"
#include "cli/workflows/job_queue.hpp"
#include "cli/workflows/removed_folders.hpp"
#include "launcher/placement.hpp"
#include "launcher/process_names.hpp"

namespace fastgpu::cli {
namespace {

/// Returns RankLabels::none if the output has only one rank, and no times are asked for.
RankLabels labels_for(const OpenJob& open, const JobOptions& options) {
  if (options.timestamps) return RankLabels::times;
  if (options.fold) return RankLabels::shown;
  const bool one = options.rank || launcher::total_ranks(open.record.placement) == 1;
  return one ? RankLabels::none : RankLabels::shown;
}

/// Returns true if the record has the reason for such an end, which the words of mpirun repeat.
bool has_known_reason(launcher::JobEndCause cause) {
  using enum launcher::JobEndCause;
  return cause == timeout || cause == hang || cause == cancelled || cause == node_loss ||
         cause == contact || cause == preempted;
}

/// Returns whether the words of mpirun are of use: they repeat what is known of a rank that failed
/// and of an end by other causes.
LauncherWords words_for(const OpenJob& open, const JobOptions& options) {
  const bool is_known = open.record.failure || has_known_reason(open.record.cause);
  return options.rank || is_known ? LauncherWords::dropped : LauncherWords::shown;
}

/// Returns the reason why a job has no logs on some nodes: they are gone and the job with them,
/// they do not run, or the folder of a job that has ended was removed there. Returns any other
/// error as it is.
Error cause_or(Context& context, const OpenJob& open, const Error& e) {
  if (e.kind() != ErrorKind::transient) return removed_or(context, open, e);
  if (!launcher::has_ended(open.job))
    if (const auto lost = outcome_of_lost_nodes(context, open.job))
      return {ErrorKind::remote, "job " + open.job.id + " is lost: " + lost->reason};
  return absence_of_nodes(context, open).value_or(e);
}

/// Reads the logs. Nodes that have another machine since the job ran there are not asked: throws
/// not_found for them, after the others have been read.
void read_logs(Context& context, const OpenJob& open, launcher::JobEngine& engine,
               launcher::LogRequest request, launcher::JobObserver& observer) {
  request.left_out = nodes_with_another_machine(context, open);
  request.are_nodes_gone = [&] { return outcome_of_lost_nodes(context, open.job).has_value(); };
  if (request.rank)
    std::erase_if(request.left_out, [&](const NodeName& node) {
      return node != launcher::node_of(open.record.placement, *request.rank);
    });
  engine.logs(open.run(), open.record, request, observer, context.cancel());
  std::string missing;
  for (const NodeName& node : request.left_out)
    append_item(missing, text_of_another_machine(node), "; ");
  if (!missing.empty()) throw Error(ErrorKind::not_found, missing);
}

/// Reads the logs, and those of the next runs if a job that is followed is started again. Calls
/// `between` before each of these.
void read_all_runs(Context& context, OpenJob& open, launcher::LogRequest request,
                   launcher::JobObserver& observer, const std::function<void()>& between) {
  for (;;) {
    std::optional<Error> failure;
    try {
      const auto engine = engine_for(context, open.cluster, open.record);
      read_logs(context, open, *engine, request, observer);
    } catch (const Error& e) {
      // The job may be started again because of what we have met.
      const bool goes_on = request.mode == launcher::LogMode::follow &&
                           e.kind() != ErrorKind::interrupted &&
                           is_restarted_by_its_owner(context, open.job);
      if (!goes_on) throw;
      failure = e;
    }
    const auto next =
        request.mode == launcher::LogMode::follow ? next_run(context, open) : std::nullopt;
    if (!next || next->record.restarts == open.record.restarts) {
      if (failure) throw Error(*failure);
      return;
    }
    if (failure) context.ui().warn(failure->what());
    between();
    open = *next;
    request.tail = {};
    request.since = {};
    if (launcher::has_ended(open.job)) request.mode = launcher::LogMode::what_there_is;
  }
}

/// Returns the output that is sorted by time: all of it, or only what is there before a running job
/// is followed.
Merging merging_for(const launcher::LogRequest& request) {
  return request.mode == launcher::LogMode::follow ? Merging::backlog : Merging::all;
}

/// Shows the logs as a document in the order of time.
int show_log_document(Context& context, OpenJob& open, const JobOptions& options,
                      const launcher::LogRequest& request) {
  LogDocument document(context, open.job.id, words_for(open, options));
  MergedOutput merged(document, merging_for(request));
  try {
    read_all_runs(context, open, request, merged, [] {});
    merged.finish();
  } catch (const Error& e) {
    merged.finish();
    const Error reason = cause_or(context, open, e);
    document.finish(&reason);
    if (document.closed()) return 0;
    throw Error(reason);
  }
  document.finish();
  return 0;
}

/// Throws usage for flags that have no meaning beside --fold, which needs all of the output.
void check_fold(Context& context, const JobOptions& options) {
  if (!options.fold) return;
  const auto refuse = [](const std::string& other) {
    throw Error(ErrorKind::usage, "logs: --fold and " + other + " exclude each other");
  };
  if (options.follow) refuse("--follow");
  if (options.rank) refuse("--rank");
  if (options.timestamps) refuse("--timestamps");
  if (context.ui().wants_document()) refuse("a document (-o json)");
}

int run_logs(Context& context, const JobOptions& options) {
  check_fold(context, options);
  find_foreign(context, options.job, options.cluster);
  OpenJob open = open_settled(context, options.job);
  if (options.follow && is_before_its_start(context, open.job)) {
    open.job = wait_while_queued(context, open.job, std::nullopt);
    open.record = *open.job.record;  // It may have been placed elsewhere meanwhile.
  }
  if (open.job.state == state::JobState::queued)
    throw Error(
        ErrorKind::conflict,
        "job " + open.job.id + " is queued and has no output yet: wait for it with --follow");
  require_begun(open);
  require_running(context, open);
  const bool is_live = options.follow && !launcher::has_ended(open.job);
  launcher::LogRequest request{
      .rank = options.rank,
      .tail = tail_of(options),
      .since = options.since,
      .times = options.timestamps || context.ui().wants_document(),
      .mode = is_live ? launcher::LogMode::follow : launcher::LogMode::what_there_is,
      .backlog_first = is_live};
  if (context.ui().wants_document()) return show_log_document(context, open, options, request);
  const RankLabels labels = labels_for(open, options);
  JobOutput output(context, labels, open.record.spec);
  FoldedOutput folded(output, [&](const std::set<int>& ranks, agent::OutputStream stream,
                                  std::string_view line) { output.line_of(ranks, stream, line); });
  MergedOutput merged(options.fold ? static_cast<launcher::JobObserver&>(folded) : output,
                      merging_for(request));
  const bool is_sorted = options.fold || labels != RankLabels::none;
  request.times = request.times || (is_sorted && !is_live);
  request.backlog_first = is_live && is_sorted;
  try {
    read_all_runs(context, open, request,
                  is_sorted ? static_cast<launcher::JobObserver&>(merged) : output, [&] {
                    merged.finish();
                    output.finish(LauncherWords::dropped);
                  });
    merged.finish();
    folded.finish();
  } catch (const Error& e) {
    merged.finish();
    folded.finish();
    output.finish(LauncherWords::dropped);
    if (output.closed()) return 0;
    throw Error(cause_or(context, open, e));
  }
  output.finish(words_for(open, options));
  return output.exit_code_after(0);
}

}  // namespace

Action make_logs_command(Arguments& arguments) {
  arguments.offer_no_names();
  const auto options = describe_job(arguments);
  arguments
      .flag("--follow", "Follow the output until the job ends, through all of its runs",
            options->follow)
      .letter = "-f";
  arguments.count("--rank", "R", "Print only this rank, byte for byte", options->rank, 0,
                  kMostLines);
  describe_tail(arguments, *options);
  arguments.flag("--fold", "Show a line that several ranks have written once, with all of them",
                 options->fold);
  arguments.duration("--since", "Only lines written within this time before now [10m]",
                     options->since);
  arguments.flag("--timestamps", "Print the time of each line", options->timestamps);
  return [options](Context& context) { return run_logs(context, *options); };
}

}  // namespace fastgpu::cli
