#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.hpp"
#include "base/outcome.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/job/recorded_job.hpp"
#include "cli/commands/show/job_views.hpp"
#include "cli/commands/show/views.hpp"
#include "cli/program/app.hpp"
#include "cli/workflows/job_array.hpp"
#include "cli/workflows/job_queue.hpp"
#include "cli/workflows/kubernetes_access.hpp"
#include "cli/workflows/lookup.hpp"
#include "launcher/job_outcome.hpp"
#include "launcher/placement.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

struct CancelJobOptions {
  std::vector<std::string> names;
  std::string cluster;
  bool dry_run = false;
};

/// Shows the job: as a sentence, or as a document.
int show_job(Context& context, const state::Job& job, const std::string& sentence) {
  if (context.ui().for_people())
    context.ui().note(sentence);
  else
    context.ui().show(view_of_one("job", to_json(job), job.id));
  return 0;
}

/// Returns true for a job that is stopped without a look at it first, which would cost a round trip
/// to each node: a stop does nothing to a job that has ended, and a look behind it finds when that
/// was. Processes that a job leaves behind may be kept, so that its end has to be known; and so it
/// has for a scheduler.
bool is_stopped_at_once(const state::Job& job) {
  const launcher::JobSpec& spec = job.record->spec;
  return job.state == state::JobState::running && spec.engine == launcher::EngineKind::mpirun &&
         spec.leftovers == launcher::Leftovers::ended;
}

/// Looks for the end of a job before it is stopped, if it has to be known by then.
state::Job look_before_stop(Context& context, const state::Job& job) {
  if (is_stopped_at_once(job)) return job_by_records(context, job).value_or(job);
  try {
    return refresh_job(context, job);
  } catch (const Error& e) {
    if (is_in_kubernetes(job))
      throw with_way_out(job.id, e, server_after(context, job.record->spec.kubernetes, e));
    throw;
  }
}

/// Returns the outcome of a job that ended by itself before it was stopped, at `stopped`; absent
/// for any other.
std::optional<launcher::JobOutcome> earlier_outcome(launcher::JobEngine& engine,
                                                    const OpenJob& open, state::TimePoint stopped) {
  if (!is_stopped_at_once(open.job)) return std::nullopt;
  auto seen = engine.glance(open.run(), open.record, launcher::Asking::briefly);
  const bool is_ours = !seen.outcome || seen.outcome->state == state::JobState::cancelled ||
                       (seen.outcome->ended && *seen.outcome->ended >= stopped);
  return is_ours ? std::nullopt : std::move(seen.outcome);
}

/// Records the end of a job that was stopped. `earlier` is that of one which had ended before.
void record_end(Context& context, state::Job& job, std::optional<launcher::JobOutcome> earlier) {
  if (earlier) note_undone(context, job, *earlier);
  launcher::mark_ended(
      context.store(), job,
      earlier.value_or(launcher::JobOutcome{.state = state::JobState::cancelled,
                                            .exit_code = exit_code(ErrorKind::interrupted),
                                            .reason = "cancelled by the user"}));
}

/// Stops a job on its nodes and records its end. Returns false if it had ended by itself before.
/// Nodes that are off do not count as a failure. A job that is started again may be waiting for a
/// lost node: it ends without an answer of that node.
bool stop_running(Context& context, OpenJob& open) {
  const auto engine = engine_for(context, open.cluster, open.record);
  context.ui().progress("stopping job " + open.job.id);
  const bool is_restarted = is_restarted_by_its_owner(context, open.job);
  const state::TimePoint stopped = std::chrono::system_clock::now();
  for (const auto& outcome : engine->stop(open.run(), open.record)) {
    if (outcome.ok()) continue;
    const Error why = outcome.error().during("stopping job " + open.job.id);
    if (!is_restarted && !is_off(context, open, outcome.host)) throw Error(why);
    context.ui().warn(why.what());
  }
  // The process that owns the job decides about a run that has ended, and may start the next one.
  const auto earlier = is_restarted ? std::nullopt : earlier_outcome(*engine, open, stopped);
  record_end(context, open.job, earlier);
  context.ui().end_progress();
  return !earlier;
}

std::string earlier_end(const state::Job& job) {
  return "job " + job.id + " has already ended: " + std::string(state::to_string(job.state));
}

/// Shows a job that had ended before it was to be stopped.
int show_earlier_end(Context& context, const state::Job& job) {
  context.ui().note(earlier_end(job));
  if (!context.ui().for_people()) context.ui().show(view_of_one("job", to_json(job), job.id));
  return 0;
}

int cancel_one(Context& context, const CancelJobOptions& options, const std::string& id) {
  const state::Job found = find_job(context, id);
  const state::Job job =
      options.dry_run ? refresh_job(context, found) : look_before_stop(context, found);
  if (launcher::has_ended(job))
    return show_earlier_end(context, job);  // Its cluster may be deleted.
  OpenJob open = open_job(context, id);
  open.job = job;
  if (options.dry_run)
    return show_job(context, open.job, "job " + open.job.id + " would be cancelled");
  if (!cancel_queued(context, open.job) && !stop_running(context, open))
    return show_earlier_end(context, open.job);
  return show_job(context, open.job, "cancelled job " + open.job.id);
}

/// Stops those of the jobs that have not ended: first those that wait, so that none of them starts
/// meanwhile. Returns the first failure.
Outcome<void> stop_all(Context& context, std::vector<state::Job>& jobs) {
  Outcome<void> first_failure;
  context.store().atomically([&] {
    for (state::Job& job : jobs)
      cancel_queued(context, job);
  });
  for (state::Job& job : jobs) {
    if (launcher::has_ended(job)) continue;
    const Outcome<void> outcome = attempt([&] {
      job = look_before_stop(context, job);
      if (launcher::has_ended(job)) return;
      OpenJob open = open_job(context, job.id);
      open.job = job;
      stop_running(context, open);
      job = open.job;
    });
    if (first_failure.ok()) first_failure = outcome;
  }
  return first_failure;
}

void show_document(Context& context, const std::vector<state::Job>& jobs) {
  std::vector<JobAndCluster> shown;
  for (const state::Job& job : jobs) {
    const auto cluster = context.store().find_cluster(job.cluster);
    shown.push_back({job, cluster ? cluster->name.value : ""});
  }
  context.ui().show(view_of(shown, std::chrono::system_clock::now()));
}

int cancel_array(Context& context, const CancelJobOptions& options, const std::string& array) {
  std::vector<state::Job> jobs = find_jobs(context, array);
  std::erase_if(jobs, [](const state::Job& job) { return launcher::has_ended(job); });
  Outcome<void> first_failure;
  if (!options.dry_run) first_failure = stop_all(context, jobs);
  if (context.ui().for_people()) {
    const std::string what = options.dry_run ? " would be cancelled" : " cancelled";
    context.ui().note("array " + array + ": " + counted(jobs.size(), "job") + what);
  } else {
    show_document(context, jobs);
  }
  first_failure.value();
  return 0;
}

/// Returns the jobs and those of arrays, each once. Throws not_found before any of them is stopped.
std::vector<state::Job> jobs_of_names(Context& context, const std::vector<std::string>& names) {
  std::vector<state::Job> jobs;
  std::set<std::string> known;
  for (const std::string& name : names)
    for (state::Job& job : find_jobs(context, name))
      if (known.insert(job.id).second) jobs.push_back(std::move(job));
  return jobs;
}

int cancel_several(Context& context, const CancelJobOptions& options) {
  std::vector<state::Job> jobs = jobs_of_names(context, options.names);
  std::set<std::string> ended;  // By themselves, or before.
  for (state::Job& job : jobs) {
    if (options.dry_run) job = refresh_job(context, job);
    if (launcher::has_ended(job)) ended.insert(job.id);
  }
  Outcome<void> first_failure;
  if (!options.dry_run) first_failure = stop_all(context, jobs);
  if (!context.ui().for_people()) show_document(context, jobs);
  for (const state::Job& job : jobs) {
    if (!context.ui().for_people()) break;
    const bool is_ours = job.state == state::JobState::cancelled && !ended.contains(job.id);
    if (is_ours)
      context.ui().note("cancelled job " + job.id);
    else if (launcher::has_ended(job))
      context.ui().note(earlier_end(job));
    else if (options.dry_run)
      context.ui().note("job " + job.id + " would be cancelled");
  }
  first_failure.value();
  return 0;
}

int run_cancel(Context& context, const CancelJobOptions& options) {
  for (const std::string& name : options.names)
    find_foreign(context, name, options.cluster);
  if (options.names.size() > 1) return cancel_several(context, options);
  const std::string id = find_run(context, options.names.front());
  context.set_job(id);
  if (context.store().find_job(id)) return cancel_one(context, options, id);
  return cancel_array(context, options, id);
}

}  // namespace

Action make_cancel_job_command(Arguments& arguments) {
  auto options = std::make_shared<CancelJobOptions>();
  Argument& names = arguments.list(
      "JOB", "", "Jobs and arrays; a name without a number is its newest run", options->names);
  names.required = true;
  names.values = Values::job;
  describe_foreign(arguments, options->cluster);
  arguments.flag("--dry-run", "Show whether the jobs run, without stopping them", options->dry_run);
  return [options](Context& context) { return run_cancel(context, *options); };
}

}  // namespace fastgpu::cli
