// wait job: waits for one or several jobs. The exit code is that of the first one that failed.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/job/job_result.hpp"
#include "cli/commands/job/junit.hpp"
#include "cli/commands/job/recorded_job.hpp"
#include "cli/commands/node/remote_output.hpp"
#include "cli/commands/shared/out_file.hpp"
#include "cli/program/app.hpp"
#include "cli/workflows/end_work.hpp"
#include "cli/workflows/job_array.hpp"
#include "cli/workflows/job_queue.hpp"
#include "launcher/placement.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

struct WaitJobOptions {
  std::vector<std::string> names;
  std::string cluster;
  std::optional<std::chrono::milliseconds> timeout;
  OutFile junit;
};

/// Waits for the time that all jobs have together.
class WaitLimit {
 public:
  explicit WaitLimit(std::optional<std::chrono::milliseconds> limit)
      : limit_(limit), begin_(std::chrono::steady_clock::now()) {}

  /// Returns what is left of it; absent for no limit.
  std::optional<std::chrono::milliseconds> left() const {
    if (!limit_) return std::nullopt;
    const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - begin_);
    return std::max(std::chrono::milliseconds(0), *limit_ - passed);
  }

 private:
  std::optional<std::chrono::milliseconds> limit_;
  std::chrono::steady_clock::time_point begin_;
};

/// Returns the jobs and those of arrays, each once, as they are on record.
std::vector<OpenJob> jobs_of(Context& context, const std::vector<std::string>& names) {
  std::vector<OpenJob> jobs;
  std::set<std::string> known;
  for (const std::string& name : names)
    for (const state::Job& job : find_jobs(context, name))
      if (known.insert(job.id).second) jobs.push_back(open_for_outcome(context, job));
  return jobs;
}

/// Waits until the job has ended, but not for its outputs. Absent if the reader of our output is
/// gone.
std::optional<state::Job> ended_run(Context& context, const OpenJob& open,
                                    std::optional<std::chrono::milliseconds> limit) {
  if (launcher::has_ended(open.job)) return open.job;
  if (is_before_its_start(context, open.job)) {
    context.ui().waiting("job " + open.job.id + " is queued");
    const WaitLimit wait_limit(limit);
    OpenJob begun = open;
    begun.job = wait_while_queued(context, open.job, limit);
    begun.record = *begun.job.record;  // It may have been placed elsewhere meanwhile.
    return ended_run(context, begun, wait_limit.left());
  }
  require_running(context, open);
  context.ui().waiting("waiting for job " + open.job.id + " to end");
  const auto engine = engine_for(context, open.cluster, open.record);
  const FollowOptions request{.output = false, .timeout = limit};
  JobOutput output(context, request.labels, open.record.spec);
  return follow_to_end(context, *engine, open, request, output);
}

/// Waits until the job has ended, and its outputs and its post-mortem are here, and returns it.
/// Absent if the reader of our output is gone.
std::optional<state::Job> ended_job(Context& context, const OpenJob& open,
                                    std::optional<std::chrono::milliseconds> limit) {
  const WaitLimit wait_limit(limit);
  const auto job = ended_run(context, open, limit);
  if (!job) return std::nullopt;
  const state::Job done = with_end_work(context, *job, wait_limit.left());
  for (const std::string& failure : work_not_done(done))
    context.ui().warn("job " + done.id + ": " + failure);
  return done;
}

std::vector<JobAndCluster> shown_jobs(const std::vector<OpenJob>& jobs) {
  std::vector<JobAndCluster> shown;
  for (const OpenJob& open : jobs)
    shown.push_back({open.job, open.cluster.name.value});
  return shown;
}

void write_report(const WaitJobOptions& options, const std::vector<OpenJob>& jobs) {
  if (options.junit.path.empty()) return;
  write_out_file(options.junit, junit_report(shown_jobs(jobs), std::chrono::system_clock::now()));
}

/// Shows the outcomes of several jobs. Returns the exit code.
int show_all(Context& context, const std::vector<OpenJob>& jobs) {
  int code = 0;
  for (const OpenJob& open : jobs) {
    if (code == 0) code = open.job.exit_code.value_or(1);
    if (context.ui().for_people()) show_ended(context, open.job, open.cluster.name.value);
  }
  if (!context.ui().for_people())
    context.ui().show(view_of(shown_jobs(jobs), std::chrono::system_clock::now()));
  return code;
}

int run_wait(Context& context, const WaitJobOptions& options) {
  if (!options.junit.path.empty()) check_out_file(options.junit);
  for (const std::string& name : options.names)
    find_foreign(context, name, options.cluster);
  std::vector<OpenJob> jobs = jobs_of(context, options.names);
  const WaitLimit wait_limit(options.timeout);
  for (OpenJob& open : jobs) {
    context.set_job(open.job.id);
    try {
      const auto job = ended_job(context, open, wait_limit.left());
      if (!job) return kBrokenPipe;
      open.job = *job;
    } catch (const Error&) {
      write_report(options, jobs);
      throw;
    }
  }
  write_report(options, jobs);
  if (jobs.size() > 1) return show_all(context, jobs);
  const int code = show_ended(context, jobs.front().job, jobs.front().cluster.name.value);
  show_last_lines(context, jobs.front().job);
  return code;
}

}  // namespace

Action make_wait_job_command(Arguments& arguments) {
  auto options = std::make_shared<WaitJobOptions>();
  options->junit = {.force = true, .flag = "--junit"};
  Argument& names = arguments.list(
      "JOB", "", "Jobs and arrays; a name without a number is its newest run", options->names);
  names.required = true;
  names.values = Values::job;
  describe_foreign(arguments, options->cluster);
  arguments.duration("--timeout", "Give up after this long; the jobs keep running",
                     options->timeout);
  arguments
      .text("--junit", "FILE", "Write the outcomes to a file as a JUnit report",
            options->junit.path)
      .values = Values::path;
  return [options](Context& context) { return run_wait(context, *options); };
}

}  // namespace fastgpu::cli
