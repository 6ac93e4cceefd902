#include "cli/commands/commands.hpp"
#include "cli/commands/job/job_output.hpp"
#include "cli/commands/job/log_document.hpp"
#include "cli/commands/job/recorded_job.hpp"
#include "launcher/placement.hpp"

namespace fastgpu::cli {
namespace {

/// Returns RankLabels::none if the output has only one rank.
RankLabels labels_for(const OpenJob& open, const JobOptions& options) {
  const bool one = options.rank || launcher::total_ranks(open.record.placement) == 1;
  return one ? RankLabels::none : RankLabels::shown;
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

int run_logs(Context& context, const JobOptions& options) {
  const OpenJob open = open_settled(context, options.job);
  require_running(context, open);
  launcher::JobRunner runner = runner_for(context, open.cluster);
  const launcher::LogRequest request{
      .rank = options.rank,
      .tail = lines_of(options),
      .mode = options.follow ? launcher::LogMode::follow : launcher::LogMode::what_there_is};
  if (context.ui().wants_document()) return show_log_document(context, open, runner, request);
  JobOutput output(context, labels_for(open, options), open.record.spec.launcher);
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

}  // namespace

Action make_logs_command(Arguments& arguments) {
  const auto options = describe_job(arguments);
  arguments.flag("--follow", "Follow the output until the job ends", options->follow).letter = "-f";
  arguments.count("--rank", "R", "Print only this rank, byte for byte", options->rank, 0,
                  kMostLines);
  describe_tail(arguments, *options);
  return [options](Context& context) { return run_logs(context, *options); };
}

}  // namespace fastgpu::cli
