// delete job: removes the files and records of ended jobs, on their nodes and here.
#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/counted.hpp"
#include "base/join.hpp"
#include "base/outcome.hpp"
#include "cli/commands/commands.hpp"
#include "cli/program/app.hpp"
#include "cli/program/consent.hpp"
#include "cli/workflows/end_work.hpp"
#include "cli/workflows/job_access.hpp"
#include "cli/workflows/job_array.hpp"
#include "cli/workflows/job_owner.hpp"
#include "cli/workflows/job_queue.hpp"
#include "cli/workflows/kubernetes_access.hpp"
#include "launcher/queue.hpp"

namespace fastgpu::cli {
namespace {

struct DeleteJobOptions {
  std::vector<std::string> names;
  std::optional<std::chrono::milliseconds> older_than;
  bool all = false;
  bool dry_run = false;
  bool yes = false;
};

void check(const DeleteJobOptions& options) {
  const bool by_rule = options.all || options.older_than;
  if (options.names.empty() && !by_rule)
    throw Error(ErrorKind::usage,
                "delete job: name jobs, or choose them with --all or --older-than (7d)");
  if (!options.names.empty() && by_rule)
    throw Error(ErrorKind::usage,
                "delete job: name jobs or choose them with --all or --older-than, not both");
}

/// The jobs that others wait for. Without the record of its success, those would never start.
class AwaitedJobs {
 public:
  explicit AwaitedJobs(Context& context) : waiting_(jobs_after_others(context)) {}

  /// Returns "job b-1 starts after job a-1"; empty if no job waits for this one.
  std::string reason_to_keep(const state::Job& job) const {
    const auto names = launcher::starting_after(job.id, waiting_);
    if (names.empty()) return {};
    const std::string others = (names.size() == 1 ? "job " : "jobs ") + joined(names) +
                               (names.size() == 1 ? " starts" : " start");
    return others + " after job " + job.id;
  }

 private:
  std::vector<state::Job> waiting_;
};

/// Returns true for a job that has nothing where it was to run: what is there under its name is
/// that of another job.
bool has_nothing(const state::Job& job) {
  return job.record->id_taken || (job.record->never_began && is_in_kubernetes(job));
}

/// The contexts of Kubernetes that this command could not ask, with the reasons. They are not asked
/// again.
using LostContexts = std::map<std::string, std::string>;

/// Returns true for a job that has ended, or that may run in a Kubernetes which cannot be asked, if
/// the user agrees that its record is deleted all the same. Throws the reason if the user does not,
/// and for a job that a fastgpu follows here.
bool may_be_deleted(Context& context, const DeleteJobOptions& options, state::Job& job,
                    LostContexts& lost) {
  try {
    job = refresh_job(context, job);
    return launcher::has_ended(job);
  } catch (const Error& e) {
    const bool has_owner = !JobOwner(context.state_directory(), job.id).held();
    if (has_owner || !is_in_kubernetes(job) || !is_out_of_reach(e)) throw;
    const launcher::JobRecord record = *job.record;
    const ApiServer server = server_after(context, record.spec.kubernetes, e);
    if (server == ApiServer::answers) throw with_way_out(job.id, e, server);
    const std::string question = std::string(e.what()) + ". Job " + job.id +
                                 " may run there. Delete its record all the same, and leave " +
                                 mpijob_of(record, launcher::run_name(job.id, record.restarts)) +
                                 "?";
    if (options.dry_run || !consents(context, options.yes, question))
      throw with_way_out(job.id, e, server);
    lost.emplace(record.spec.kubernetes.context, e.what());
    return true;
  }
}

/// Returns the named jobs, each once. Throws conflict for a running job, and for one that others
/// wait for.
std::vector<state::Job> named_jobs(Context& context, const DeleteJobOptions& options,
                                   LostContexts& lost) {
  const AwaitedJobs awaited(context);
  std::vector<state::Job> jobs;
  std::set<std::string> seen;
  for (const std::string& name : options.names) {
    for (state::Job& job : find_jobs(context, name)) {
      if (!seen.insert(job.id).second) continue;
      if (!may_be_deleted(context, options, job, lost))
        throw Error(ErrorKind::conflict,
                    "job " + job.id +
                        (job.state == state::JobState::queued ? " waits in the queue: cancel"
                                                              : " is running: stop") +
                        " it first: fastgpu cancel job " + job.id);
      if (const std::string work = end_work_to_come(context, job); !work.empty())
        throw Error(ErrorKind::conflict, "job " + job.id + " has ended, and " + work +
                                             ": wait for that first: fastgpu wait job " + job.id);
      if (const std::string why = awaited.reason_to_keep(job); !why.empty())
        throw Error(ErrorKind::conflict, "job " + job.id + " is needed: " + why);
      jobs.push_back(job);
    }
  }
  return jobs;
}

/// Returns the jobs that have ended, or only those that ended long enough ago, without those that
/// others wait for.
std::vector<state::Job> old_jobs(Context& context, const DeleteJobOptions& options) {
  const AwaitedJobs awaited(context);
  const auto now = std::chrono::system_clock::now();
  std::vector<state::Job> jobs;
  for (const state::Job& job : context.store().jobs()) {
    if (!launcher::has_ended(job)) continue;
    const bool is_old = !options.older_than || !job.ended || now - *job.ended > *options.older_than;
    if (!is_old || !end_work_to_come(context, job).empty()) continue;
    if (const std::string why = awaited.reason_to_keep(job); !why.empty())
      context.ui().note("job " + job.id + " is kept: " + why);
    else
      jobs.push_back(job);
  }
  return jobs;
}

bool is_agreed(Context& context, const DeleteJobOptions& options,
               const std::vector<state::Job>& jobs) {
  const std::string what = jobs.size() == 1 ? "job " + jobs[0].id : counted(jobs.size(), "job");
  return consents(context, options.yes, "Delete " + what + " with logs and copied files?");
}

/// Removes the job's folders on the nodes.
void remove_files(Context& context, const OpenJob& open) {
  if (has_nothing(open.job)) return;
  require_running(context, open);
  const auto engine = engine_for(context, open.cluster, open.record);
  for (int restarts = 0; restarts <= open.record.restarts; ++restarts)
    for (const auto& one :
         engine->remove(launcher::run_name(open.job.id, restarts), open.record, context.cancel()))
      if (!one.ok()) throw one.error().during("job " + open.job.id + " on " + one.host.value);
}

/// Removes what Kubernetes has of the job. If it cannot be asked, warns that this stays there.
void remove_from_kubernetes(Context& context, const OpenJob& open, LostContexts& lost) {
  const std::string& name = open.record.spec.kubernetes.context;
  if (!lost.contains(name)) {
    try {
      return remove_files(context, open);
    } catch (const Error& e) {
      if (server_after(context, open.record.spec.kubernetes, e) == ApiServer::answers) throw;
      lost.emplace(name, e.what());
    }
  }
  if (has_nothing(open.job)) return;
  context.ui().warn("job " + open.job.id + ": only its record is deleted, and " +
                    mpijob_of(open.record, open.run()) +
                    " may be left there with its pods: " + lost.at(name));
}

/// Removes the job's folders on the nodes, then its record. If the cluster is deleted, only the
/// record is left.
void remove(Context& context, const state::Job& job, LostContexts& lost) {
  if (is_in_kubernetes(job))
    remove_from_kubernetes(context, open_job(context, job.id), lost);
  else if (context.store().find_cluster(job.cluster))
    remove_files(context, open_job(context, job.id));
  context.store().erase_job(job.id);
}

struct Deletion {
  std::string job;
  Outcome<void> outcome{};
};

View view_of(const std::vector<Deletion>& deletions, bool dry_run) {
  View view;
  view.when_empty = "no ended jobs";
  view.root = document(dry_run ? "plan" : "deleted");
  view.root["jobs"] = Json::array();
  view.table.columns = {{"JOB"}, {"RESULT"}};
  for (const Deletion& one : deletions) {
    const bool failed = !one.outcome.ok();
    const std::string result = failed    ? one.outcome.error().what()
                               : dry_run ? "to delete"
                                         : "deleted";
    Json item;
    item["id"] = one.job;
    item["error"] = failed ? Json(result) : Json(nullptr);
    view.root["jobs"].push_back(std::move(item));
    view.table.rows.push_back({one.job, Cell(result, failed ? Color::red : Color::green)});
    view.names.push_back(one.job);
  }
  return view;
}

int run(Context& context, const DeleteJobOptions& options) {
  check(options);
  LostContexts lost;
  const auto jobs =
      options.names.empty() ? old_jobs(context, options) : named_jobs(context, options, lost);
  if (!jobs.empty() && !options.dry_run && !is_agreed(context, options, jobs)) {
    context.ui().note("nothing deleted");
    return 1;
  }
  std::vector<Deletion> deletions;
  int code = 0;
  for (const state::Job& job : jobs) {
    deletions.push_back({.job = job.id});
    if (options.dry_run) continue;
    context.ui().progress("deleting job " + job.id);
    const Outcome<void>& outcome = deletions.back().outcome = attempt([&] {
      context.cancel().check();
      remove(context, job, lost);
    });
    if (!outcome.ok()) code = std::max(code, exit_code(outcome.error().kind()));
  }
  context.ui().end_progress();
  context.ui().show(view_of(deletions, options.dry_run));
  return code;
}

}  // namespace

Action make_delete_job_command(Arguments& arguments) {
  auto options = std::make_shared<DeleteJobOptions>();
  Argument& names =
      arguments.list("JOB", "", "Ended jobs and arrays; a name without a number is its newest run",
                     options->names);
  names.values = Values::job;
  arguments.flag("--all", "Delete all ended jobs", options->all);
  arguments.duration("--older-than", "Delete jobs that ended longer ago than this [7d]",
                     options->older_than);
  arguments.flag("--dry-run", "Show which jobs would be deleted, without deleting them",
                 options->dry_run);
  describe_consent(arguments, options->yes);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
