// wait, attach, cancel and logs: a job that was started before.
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/job/job_result.hpp"
#include "cli/commands/job/log_document.hpp"
#include "cli/commands/show/views.hpp"
#include "cli/program/app.hpp"
#include "launcher/placement.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

constexpr int kMostLines = 1'000'000'000;

struct Options {
  std::string job;
  std::optional<int> rank;
  std::optional<int> tail;
  std::optional<std::chrono::milliseconds> timeout;
  bool follow = false;
  bool dry_run = false;
};

std::optional<std::uint64_t> lines_of(const Options& options) {
  if (!options.tail) return std::nullopt;
  return static_cast<std::uint64_t>(*options.tail);
}

/// Returns the labels; none with one rank.
RankLabels labels_for(const OpenJob& open, const Options& options) {
  const bool one = options.rank || launcher::total_ranks(open.record.placement) == 1;
  return one ? RankLabels::none : RankLabels::shown;
}

/// Returns the named job. One whose cluster is stopped has ended.
OpenJob open_settled(Context& context, const std::string& name) {
  OpenJob open = open_job(context, name);
  if (open.cluster.state == state::ClusterState::stopped) open.job = refresh_job(context, open.job);
  return open;
}

int run_wait(Context& context, const Options& options) {
  const OpenJob open = open_settled(context, options.job);
  if (launcher::has_ended(open.job)) return show_ended(context, open.job, open.cluster.name.value);
  require_running(context, open);
  launcher::JobRunner runner = runner_for(context, open.cluster);
  return follow_job(context, runner, open, {.output = false, .patience = options.timeout});
}

int run_attach(Context& context, const Options& options) {
  const OpenJob open = open_settled(context, options.job);
  require_running(context, open);
  launcher::JobRunner runner = runner_for(context, open.cluster);
  return follow_job(context, runner, open, {.tail = lines_of(options)});
}

int run_cancel(Context& context, const Options& options) {
  OpenJob open = open_job(context, options.job);
  open.job = refresh_job(context, open.job);
  if (launcher::has_ended(open.job)) {
    context.ui().note("job " + open.job.id +
                      " has ended already: " + std::string(state::to_string(open.job.state)));
    if (!context.ui().for_people())
      context.ui().show(view_of_one("job", to_json(open.job), open.job.id));
    return 0;
  }
  if (options.dry_run) {
    if (context.ui().for_people())
      context.ui().note("job " + open.job.id + " would be stopped");
    else
      context.ui().show(view_of_one("job", to_json(open.job), open.job.id));
    return 0;
  }
  launcher::JobRunner runner = runner_for(context, open.cluster);
  context.ui().progress("stopping job " + open.job.id);
  for (const auto& outcome : runner.stop(open.job.id, open.record))
    if (!outcome.ok()) throw outcome.error().during("stopping job " + open.job.id);
  launcher::mark_ended(context.store(), open.job,
                       {.state = state::JobState::cancelled,
                        .exit_code = exit_code(ErrorKind::interrupted),
                        .reason = "cancelled by the user"});
  context.ui().end_progress();
  if (context.ui().for_people())
    context.ui().note("cancelled job " + open.job.id);
  else
    context.ui().show(view_of_one("job", to_json(open.job), open.job.id));
  return 0;
}

int show_log_document(Context& context, const OpenJob& open, launcher::JobRunner& runner,
                      const launcher::LogRequest& request) {
  LogDocument document(context, open.job.id);
  try {
    runner.logs(open.job.id, open.record, request, document, context.cancel());
  } catch (const Error& e) {
    document.finish(&e);
    if (document.closed()) return 0;
    throw;
  }
  document.finish();
  return 0;
}

int run_logs(Context& context, const Options& options) {
  const OpenJob open = open_settled(context, options.job);
  require_running(context, open);
  launcher::JobRunner runner = runner_for(context, open.cluster);
  const launcher::LogRequest request{
      .rank = options.rank,
      .tail = lines_of(options),
      .mode = options.follow ? launcher::LogMode::follow : launcher::LogMode::what_there_is};
  if (context.ui().wants_document()) return show_log_document(context, open, runner, request);
  JobOutput output(context, labels_for(open, options));
  try {
    runner.logs(open.job.id, open.record, request, output, context.cancel());
  } catch (const Error&) {
    output.finish(LauncherWords::dropped);
    if (output.closed()) return 0;
    throw;
  }
  output.finish(options.rank ? LauncherWords::dropped : LauncherWords::shown);
  return 0;
}

std::shared_ptr<Options> describe_job(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  Argument& job =
      arguments.text("JOB", "", "The job; a name without a number is its newest run", options->job);
  job.required = true;
  job.values = Values::job;
  return options;
}

void describe_tail(Arguments& arguments, Options& options) {
  arguments.count("--tail", "N", "Start with the last N lines of each rank", options.tail, 0,
                  kMostLines);
}

}  // namespace

Action describe_wait_job(Arguments& arguments) {
  const auto options = describe_job(arguments);
  arguments.duration("--timeout", "Give up after this long; the job goes on", options->timeout);
  return [options](Context& context) { return run_wait(context, *options); };
}

Action describe_attach_job(Arguments& arguments) {
  const auto options = describe_job(arguments);
  describe_tail(arguments, *options);
  return [options](Context& context) { return run_attach(context, *options); };
}

Action describe_cancel_job(Arguments& arguments) {
  const auto options = describe_job(arguments);
  arguments.flag("--dry-run", "Show whether the job runs, without stopping it", options->dry_run);
  return [options](Context& context) { return run_cancel(context, *options); };
}

Action describe_logs(Arguments& arguments) {
  const auto options = describe_job(arguments);
  arguments.flag("--follow", "Follow the output until the job ends", options->follow).letter = "-f";
  arguments.count("--rank", "R", "Print only this rank, byte for byte", options->rank, 0,
                  kMostLines);
  describe_tail(arguments, *options);
  return [options](Context& context) { return run_logs(context, *options); };
}

}  // namespace fastgpu::cli
