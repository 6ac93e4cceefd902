// wait job: waits for one or several jobs. The exit code is that of the first one that failed.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
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

/// The errors of jobs that cannot be asked. With a report they do not end the wait for the others.
class UnaskedJobs {
 public:
  explicit UnaskedJobs(bool has_report) : has_report_(has_report) {}

  /// Notes the error of a job. Rethrows one that ends the wait for all.
  void add(const std::string& job, const Error& e) {
    const bool is_of_all =
        e.kind() == ErrorKind::interrupted || e.kind() == ErrorKind::timeout || !has_report_;
    if (!first_) first_ = e;
    reasons_.emplace(job, e.what());
    if (is_of_all) throw Error(e);
  }

  bool has(const std::string& job) const { return reasons_.contains(job); }
  const std::map<std::string, std::string>& reasons() const { return reasons_; }
  void check() const {
    if (first_) throw Error(*first_);
  }

 private:
  bool has_report_;
  std::optional<Error> first_{};
  std::map<std::string, std::string> reasons_{};
};

/// Returns the jobs and those of arrays, each once, as they are on record.
std::vector<OpenJob> jobs_of(Context& context, const std::vector<std::string>& names,
                             UnaskedJobs& unasked) {
  std::vector<OpenJob> jobs;
  std::set<std::string> known;
  for (const std::string& name : names)
    for (const state::Job& job : find_jobs(context, name)) {
      if (!known.insert(job.id).second) continue;
      try {
        jobs.push_back(open_for_outcome(context, job));
      } catch (const Error& e) {
        unasked.add(job.id, e);
        jobs.push_back({job, *job.record,
                        context.store().find_cluster(job.cluster).value_or(state::Cluster())});
      }
    }
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

void write_report(const WaitJobOptions& options, const std::vector<OpenJob>& jobs,
                  const UnaskedJobs& unasked) {
  if (options.junit.path.empty()) return;
  const auto now = std::chrono::system_clock::now();
  write_out_file(options.junit, junit_report(shown_jobs(jobs), now, unasked.reasons()));
}

/// Notes the error of a job, and writes the report if it ends the wait for all.
void note_unasked(const WaitJobOptions& options, const std::vector<OpenJob>& jobs,
                  UnaskedJobs& unasked, const std::string& job, const Error& error) {
  try {
    unasked.add(job, error);
  } catch (const Error&) {
    write_report(options, jobs, unasked);
    throw;
  }
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
  UnaskedJobs unasked(!options.junit.path.empty());
  std::vector<OpenJob> jobs = jobs_of(context, options.names, unasked);
  const WaitLimit wait_limit(options.timeout);
  for (OpenJob& open : jobs) {
    if (unasked.has(open.job.id)) continue;
    context.set_job(open.job.id);
    try {
      const auto job = ended_job(context, open, wait_limit.left());
      if (!job) return kBrokenPipe;
      open.job = *job;
    } catch (const Error& e) {
      note_unasked(options, jobs, unasked, open.job.id, e);
    }
  }
  write_report(options, jobs, unasked);
  unasked.check();
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
