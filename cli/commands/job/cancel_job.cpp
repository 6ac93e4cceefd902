#include "cli/commands/commands.hpp"
#include "cli/commands/job/recorded_job.hpp"
#include "cli/commands/show/views.hpp"
#include "cli/program/app.hpp"
#include "cli/workflows/job_queue.hpp"
#include "launcher/placement.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

int show_cancelled(Context& context, const state::Job& job) {
  if (context.ui().for_people())
    context.ui().note("cancelled job " + job.id);
  else
    context.ui().show(view_of_one("job", to_json(job), job.id));
  return 0;
}

int run_cancel(Context& context, const JobOptions& options) {
  OpenJob open = open_job(context, options.job);
  open.job = refresh_job(context, open.job);
  if (launcher::has_ended(open.job)) {
    context.ui().note("job " + open.job.id +
                      " has already ended: " + std::string(state::to_string(open.job.state)));
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
  if (cancel_queued(context, open.job)) return show_cancelled(context, open.job);
  const auto engine = engine_for(context, open.cluster, open.record);
  context.ui().progress("stopping job " + open.job.id);
  for (const auto& outcome : engine->stop(open.job.id, open.record))
    if (!outcome.ok()) throw outcome.error().during("stopping job " + open.job.id);
  launcher::mark_ended(context.store(), open.job,
                       {.state = state::JobState::cancelled,
                        .exit_code = exit_code(ErrorKind::interrupted),
                        .reason = "cancelled by the user"});
  context.ui().end_progress();
  return show_cancelled(context, open.job);
}

}  // namespace

Action make_cancel_job_command(Arguments& arguments) {
  const auto options = describe_job(arguments);
  arguments.flag("--dry-run", "Show whether the job runs, without stopping it", options->dry_run);
  return [options](Context& context) { return run_cancel(context, *options); };
}

}  // namespace fastgpu::cli
