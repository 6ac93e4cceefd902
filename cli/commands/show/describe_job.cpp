#include <chrono>
#include <string>

#include "cli/commands/commands.hpp"
#include "cli/commands/show/job_description.hpp"
#include "cli/commands/show/shown_state.hpp"
#include "cli/workflows/job_queue.hpp"
#include "cli/workflows/lookup.hpp"

namespace fastgpu::cli {
namespace {

/// Returns the turn of a queued job. Any other waits for nothing, and neither does one with a
/// damaged record.
launcher::Turn turn_if_queued(Context& context, const state::Job& job) try {
  if (job.state != state::JobState::queued) return {};
  return turn_now(context, job);
} catch (const Error&) {
  return {};
}

}  // namespace

Action make_describe_job_command(Arguments& arguments) {
  const auto options = describe_name(arguments, "The job", Values::job);
  return [options](Context& context) {
    const JobAndCluster found = wanted_jobs(context, {find_job(context, options->name).id}).front();
    Json fields = to_json(found.job);
    fields["cluster"] = found.cluster;
    const auto now = std::chrono::system_clock::now();
    fields["duration_seconds"] = duration_of(found.job, now).count();
    const launcher::Turn turn = turn_if_queued(context, found.job);
    fields["waits_for"] = turn.waits_for;
    fields["logs"] = place_of_logs(found.job);
    View view = view_of_one("job", fields, found.job.id);
    view.described = description_of(found, words_for(turn), now);
    context.ui().show(view);
    return 0;
  };
}

}  // namespace fastgpu::cli
