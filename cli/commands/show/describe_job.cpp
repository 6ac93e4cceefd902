#include <chrono>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/show/job_description.hpp"
#include "cli/commands/show/shown_state.hpp"
#include "cli/workflows/job_queue.hpp"
#include "cli/workflows/lookup.hpp"

namespace fastgpu::cli {
namespace {

/// Returns the jobs that a queued one waits for; none for any other, and for a damaged record.
std::vector<std::string> jobs_before(Context& context, const state::Job& job) try {
  if (job.state != state::JobState::queued) return {};
  return turn_now(context, job).waits_for;
} catch (const Error&) {
  return {};
}

}  // namespace

Action make_describe_job_command(Arguments& arguments) {
  const auto options = describe_name(arguments, "The job", Values::job, Need::required);
  return [options](Context& context) {
    const JobAndCluster found = wanted_jobs(context, find_job(context, options->name).id).front();
    Json fields = to_json(found.job);
    fields["cluster"] = found.cluster;
    const auto now = std::chrono::system_clock::now();
    fields["duration_seconds"] = duration_of(found.job, now).count();
    const auto before = jobs_before(context, found.job);
    fields["waits_for"] = before;
    fields["logs"] = place_of_logs(found.job);
    View view = view_of_one("job", fields, found.job.id);
    view.described = description_of(found, before, now);
    context.ui().show(view);
    return 0;
  };
}

}  // namespace fastgpu::cli
