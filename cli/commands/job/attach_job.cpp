#include "cli/commands/commands.hpp"
#include "cli/commands/job/job_result.hpp"
#include "cli/commands/job/recorded_job.hpp"

namespace fastgpu::cli {
namespace {

int run_attach(Context& context, const JobOptions& options) {
  const OpenJob open = open_settled(context, options.job);
  require_running(context, open);
  launcher::JobRunner runner = runner_for(context, open.cluster);
  return follow_job(context, runner, open, {.tail = lines_of(options)});
}

}  // namespace

Action make_attach_job_command(Arguments& arguments) {
  const auto options = describe_job(arguments);
  describe_tail(arguments, *options);
  return [options](Context& context) { return run_attach(context, *options); };
}

}  // namespace fastgpu::cli
