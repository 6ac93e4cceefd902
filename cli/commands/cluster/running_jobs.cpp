#include "cli/commands/cluster/running_jobs.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "base/contains.hpp"
#include "base/counted.hpp"
#include "base/join.hpp"
#include "base/outcome.hpp"
#include "cli/program/app.hpp"
#include "cli/workflows/end_work.hpp"
#include "cli/workflows/job_access.hpp"
#include "cli/workflows/name_folding.hpp"
#include "launcher/engines/slurm_site.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::size_t kMostNamed = 5;

/// Returns true if Slurm has given a node of these to the job. Assumes so for a job that runs on
/// nodes that are unknown.
bool has_in_slurm(const state::Job& job, const std::vector<state::Node>& nodes) {
  const std::string& chosen = job.record->engine_job.nodes;
  if (chosen.empty()) return job.state == state::JobState::running;
  const std::vector<std::string> names = unfold_names(chosen);
  return std::ranges::any_of(nodes, [&](const state::Node& node) {
    return contains(names, launcher::slurm_node_name(node.name));
  });
}

/// Returns true if the nodes have ranks of the job, or have given it to Slurm. Assumes so for a job
/// whose record is unreadable.
bool is_on(const state::Job& job, const std::vector<state::Node>& nodes) try {
  const launcher::JobRecord& record = *job.record;
  const bool is_placed =
      std::ranges::any_of(record.placement, [&](const launcher::NodeRanks& ranks) {
        return contains(nodes, ranks.node, &state::Node::name);
      });
  return is_placed ||
         (record.spec.engine == launcher::EngineKind::slurm && has_in_slurm(job, nodes));
} catch (const Error&) {
  return true;
}

/// Returns true if the job may turn out to be on the nodes once they are asked: Slurm may have
/// given it other nodes than those on record.
bool may_be_on(const state::Job& job, const std::vector<state::Node>& nodes) {
  if (is_on(job, nodes)) return true;
  return job.state != state::JobState::queued &&
         job.record->spec.engine == launcher::EngineKind::slurm;
}

/// Returns the job as its nodes see it now, or as recorded if they do not answer.
state::Job asked(Context& context, const state::Job& job) {
  try {
    return refresh_job(context, job);
  } catch (const Error&) {
    context.cancel().check();
    return job;
  }
}

/// Returns the job as this source has it.
state::Job job_from(Context& context, const state::Job& job, JobSource source) {
  switch (source) {
    case JobSource::nodes:
      return asked(context, job);
    case JobSource::settled: {
      const auto known = attempt([&] { return job_by_records(context, job).value_or(job); });
      return known.ok() ? known.value() : job;
    }
    case JobSource::record:
      break;
  }
  return job;
}

/// Returns the unfinished jobs of the cluster that may be on the nodes, as recorded, the oldest
/// first.
std::vector<state::Job> unfinished_jobs(Context& context, const state::Cluster& cluster,
                                        const std::vector<state::Node>& nodes) {
  std::vector<state::Job> jobs = context.store().jobs();
  std::erase_if(jobs, [&](const state::Job& job) {
    return job.cluster != cluster.id || launcher::has_ended(job) || !may_be_on(job, nodes);
  });
  std::ranges::reverse(jobs);
  return jobs;
}

/// Returns true if the job runs, or is to run, in such an environment.
bool may_use(const state::Job& job,
             const std::function<bool(const state::UsedEnvironment&)>& is_meant) try {
  const auto& used = job.record->spec.used_environment;
  return used && is_meant(*used);
} catch (const Error&) {
  return true;
}

/// Returns those of `jobs` that are still unfinished and on the nodes, as they are now.
std::vector<state::Job> still_on(Context& context, const std::vector<state::Node>& nodes,
                                 JobSource source, const std::vector<state::Job>& jobs) {
  std::vector<state::Job> found;
  for (const state::Job& job : jobs) {
    state::Job now = job_from(context, job, source);
    if (!launcher::has_ended(now) && is_on(now, nodes)) found.push_back(std::move(now));
  }
  return found;
}

/// Returns "a-1, b-1": the first few, and "..." for more.
std::string first_of(const std::vector<std::string>& jobs) {
  std::string names;
  for (std::size_t i = 0; i < std::min(jobs.size(), kMostNamed); ++i)
    append_item(names, jobs[i]);
  return names + (jobs.size() > kMostNamed ? ", ..." : "");
}

/// Returns "2 jobs run on it: a-1, b-1", with the verb for one job or for several, and `what` for
/// "it"; "" without jobs.
std::string counted_text(const std::vector<std::string>& jobs, const char* one_does,
                         const char* several_do, const std::string& what = "it") {
  if (jobs.empty()) return {};
  return counted(jobs.size(), "job") + " " + (jobs.size() == 1 ? one_does : several_do) + " " +
         what + ": " + first_of(jobs);
}

UnfinishedJobs by_state(const std::vector<state::Job>& jobs) {
  UnfinishedJobs found;
  for (const state::Job& job : jobs)
    (job.state == state::JobState::queued ? found.queued : found.running).push_back(job.id);
  return found;
}

/// Calls `write`, which changes the record. If the disk is full, the record stays: a later look at
/// the jobs finds that their cluster or a node of them is gone.
void write_where_room(const std::function<void()>& write) {
  const Outcome<void> outcome = attempt(write);
  if (!outcome.ok() && outcome.error().kind() != ErrorKind::capacity) throw Error(outcome.error());
}

void mark_cancelled(Context& context, state::Job& job, const std::string& why) {
  launcher::mark_ended(context.store(), job,
                       {.state = state::JobState::cancelled,
                        .exit_code = exit_code(ErrorKind::interrupted),
                        .reason = why});
}

/// Cancels the jobs that wait, and reads the present state of the others.
void cancel_waiting(Context& context, std::vector<state::Job>& jobs, const std::string& why) {
  context.store().atomically([&] {
    for (state::Job& job : jobs) {
      if (auto stored = context.store().find_job(job.id)) job = std::move(*stored);
      if (job.state == state::JobState::queued)
        mark_cancelled(context, job, why + " before its turn");
    }
  });
}

/// Returns what may stay of a job on a node that has not stopped it, and how it ends.
std::string rest_on(const std::string& node, const std::string& run,
                    const launcher::JobRecord& record) {
  if (record.spec.engine == launcher::EngineKind::slurm)
    return "it may still be in Slurm: run on " + node + ": scancel " + record.engine_job.id;
  return "its processes may still run on " + node +
         ": end those there that have FASTGPU_JOB_ID=" + run + " in their environment";
}

/// Stops a job on its nodes. Reports the nodes that do not confirm it, and returns true if all do.
bool stops_everywhere(Context& context, const state::Cluster& cluster, const state::Job& job) {
  const launcher::JobRecord& record = *job.record;
  const std::string run = launcher::run_name(job.id, record.restarts);
  bool confirmed = true;
  for (const auto& outcome : engine_for(context, cluster, record)->stop(run, record)) {
    if (outcome.ok()) continue;
    confirmed = false;
    context.ui().warn(std::string(outcome.error().during("stopping job " + job.id).what()) + "; " +
                      rest_on(outcome.host.value, run, record));
  }
  return confirmed;
}

/// Stops a job that may still run on the nodes `leaving`, and records its end. A job that is lost
/// may have ranks left.
void stop_leaving(Context& context, const state::Cluster& cluster, const state::Job& recorded,
                  const std::vector<state::Node>& leaving, const std::string& why) {
  state::Job job = asked(context, recorded);
  if (launcher::has_ended(job) && job.state != state::JobState::lost) return;
  if (!is_on(job, leaving)) return;
  context.ui().progress("stopping job " + job.id);
  const bool is_restarted = is_restarted_by_its_owner(context, job);
  // A job that a fastgpu starts again ends in any case, or it would be started after this.
  if (stops_everywhere(context, cluster, job) || is_restarted)
    write_where_room([&] { mark_cancelled(context, job, why); });
}

/// Returns the jobs on the nodes that have ended, with the work that is still to be done for them.
std::vector<std::pair<std::string, std::string>> end_work_on(
    Context& context, const state::Cluster& cluster, const std::vector<state::Node>& nodes) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const state::Job& job : context.store().jobs()) {
    if (job.cluster != cluster.id || !is_on(job, nodes)) continue;
    if (std::string work = end_work_to_come(context, job); !work.empty())
      found.emplace_back(job.id, std::move(work));
  }
  return found;
}

}  // namespace

UnfinishedJobs jobs_on(Context& context, const state::Cluster& cluster,
                       const std::vector<state::Node>& nodes, JobSource source) {
  const std::vector<state::Job> unfinished = unfinished_jobs(context, cluster, nodes);
  UnfinishedJobs found = by_state(still_on(context, nodes, source, unfinished));
  for (const auto& [id, work] : end_work_on(context, cluster, nodes))
    found.running.push_back(id + " (" + work + ")");
  return found;
}

UnfinishedJobs jobs_using(Context& context, const state::Cluster& cluster,
                          const std::vector<state::Node>& nodes,
                          const std::function<bool(const state::UsedEnvironment&)>& is_meant) {
  std::vector<state::Job> jobs = unfinished_jobs(context, cluster, nodes);
  std::erase_if(jobs, [&](const state::Job& job) { return !may_use(job, is_meant); });
  return by_state(still_on(context, nodes, JobSource::nodes, jobs));
}

void refuse_while_used(const UnfinishedJobs& jobs, const std::string& what) {
  if (jobs.empty()) return;
  std::vector<std::string> all = jobs.running;
  all.insert(all.end(), jobs.queued.begin(), jobs.queued.end());
  const bool is_one = all.size() == 1;
  std::string text = counted_text(jobs.running, "uses", "use", what);
  const std::string waiting = counted_text(jobs.queued, "waits for", "wait for", what);
  if (!waiting.empty()) append_item(text, waiting, "; ");
  throw Error(ErrorKind::conflict, text + "; `fastgpu wait job " + all.front() + "` waits for " +
                                       (is_one ? "it" : "the first") +
                                       ", and `fastgpu cancel job " + joined(all, " ") + "` ends " +
                                       (is_one ? "it" : "them"));
}

std::string jobs_text(const UnfinishedJobs& jobs) {
  std::string text = counted_text(jobs.running, "runs on", "run on");
  const std::string waiting = counted_text(jobs.queued, "waits for", "wait for");
  if (!waiting.empty()) append_item(text, waiting, "; ");
  return text;
}

void stop_leaving_jobs(Context& context, const state::Cluster& cluster,
                       const std::vector<state::Node>& leaving, const std::string& why) {
  for (const auto& [id, work] : end_work_on(context, cluster, leaving))
    context.ui().warn("job " + id + " has ended, and " + work + ": what is still on the nodes " +
                      "that go now is lost");
  if (!provision::provider_info(cluster.provider).needs_hosts_file) return;
  std::vector<state::Job> jobs = unfinished_jobs(context, cluster, leaving);
  write_where_room([&] { cancel_waiting(context, jobs, why); });
  for (const state::Job& job : jobs) {
    if (launcher::has_ended(job)) continue;
    const Outcome<void> outcome =
        attempt([&] { stop_leaving(context, cluster, job, leaving, why); });
    context.cancel().check();
    if (!outcome.ok())
      context.ui().warn(std::string(outcome.error().during("stopping job " + job.id).what()) +
                        "; its processes may still run on its nodes");
  }
  context.ui().end_progress();
}

}  // namespace fastgpu::cli
