#include "cli/commands/commands.hpp"
#include "cli/commands/job/job_result.hpp"
#include "cli/commands/job/recorded_job.hpp"
#include "cli/workflows/job_queue.hpp"

namespace fastgpu::cli {
namespace {

int run_attach(Context& context, const JobOptions& options) {
  find_foreign(context, options.job, options.cluster);
  OpenJob open = open_settled(context, options.job);
  if (is_before_its_start(context, open.job)) {
    context.ui().waiting("job " + open.job.id + " is queued");
    open.job = wait_while_queued(context, open.job, std::nullopt);
    open.record = *open.job.record;  // It may have been placed elsewhere meanwhile.
    if (open.job.state == state::JobState::cancelled || open.job.state == state::JobState::lost)
      return show_ended(context, open.job, open.cluster.name.value);
  }
  if (launcher::has_ended(open.job) && open.job.record->never_began)
    return show_ended(context, open.job, open.cluster.name.value);
  require_running(context, open);
  const auto engine = engine_for(context, open.cluster, open.record);
  return follow_job(context, *engine, open, {.tail = tail_of(options), .sorts_backlog = true});
}

}  // namespace

Action make_attach_job_command(Arguments& arguments) {
  const auto options = describe_job(arguments);
  describe_tail(arguments, *options);
  return [options](Context& context) { return run_attach(context, *options); };
}

}  // namespace fastgpu::cli
