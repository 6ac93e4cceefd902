#include "cli/commands/commands.hpp"
#include "cli/commands/job/job_result.hpp"
#include "cli/commands/job/recorded_job.hpp"
#include "launcher/placement.hpp"

namespace fastgpu::cli {
namespace {

int run_wait(Context& context, const JobOptions& options) {
  const OpenJob open = open_settled(context, options.job);
  if (launcher::has_ended(open.job)) return show_ended(context, open.job, open.cluster.name.value);
  require_running(context, open);
  launcher::JobRunner runner = runner_for(context, open.cluster);
  return follow_job(context, runner, open, {.output = false, .timeout = options.timeout});
}

}  // namespace

Action make_wait_job_command(Arguments& arguments) {
  const auto options = describe_job(arguments);
  arguments.duration("--timeout", "Give up after this long; the job keeps running",
                     options->timeout);
  return [options](Context& context) { return run_wait(context, *options); };
}

}  // namespace fastgpu::cli
