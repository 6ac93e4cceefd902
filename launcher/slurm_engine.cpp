#include "launcher/slurm_engine.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/protocol/status.hpp"
#include "base/error.hpp"
#include "launcher/engines/slurm.hpp"
#include "launcher/fan_out.hpp"
#include "launcher/following.hpp"
#include "launcher/glance.hpp"
#include "launcher/linked_cancel.hpp"
#include "launcher/mpirun_engine.hpp"
#include "launcher/placement.hpp"
#include "launcher/slurm_script.hpp"
#include "launcher/slurm_submission.hpp"
#include "launcher/slurm_watch.hpp"

namespace fastgpu::launcher {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSoon{5'000};
/// The programs of Slurm wait about five seconds for a controller that is gone.
constexpr milliseconds kGlanceAtSlurm{15'000};
/// The time that Slurm needs to end a job, in addition to the grace of its programs.
constexpr std::chrono::seconds kSlurmToStop{20};

/// Returns true if a job has failed because a program of its script was not found, before all of
/// its ranks began: its nodes may have lost the agent. The shell's own words may be missing,
/// because srun ends all tasks at once.
bool may_lack_agents(const JobReport& report) {
  return report.launcher->cause == agent::StopCause::none && !report.launcher->how.ok() &&
         report.ranks.size() < static_cast<std::size_t>(total_ranks(report.placement)) &&
         report.launcher_tail.find("exit code 127") != std::string::npos;
}

/// Returns the job as a cancelled one if its record has a cancel, while Slurm is still ending it.
SlurmJob settled(SlurmJob job, const agent::JobEnd& record) {
  const bool is_cancelled = record.cause == agent::StopCause::request;
  if (job.phase == SlurmPhase::ended || !is_cancelled) return job;
  job.state = "CANCELLED";
  job.phase = SlurmPhase::ended;
  return job;
}

/// Submits jobs on the head. Ranks find their plan in their home directory, and write their logs
/// there: it is that of the head, or that of any node of `site`.
class SlurmEngine final : public JobEngine {
 public:
  SlurmEngine(ssh::Client& client, std::unique_ptr<ssh::Client> asking, SlurmSite site,
              RunnerOptions options, SlurmTimes times)
      : client_(client),
        asking_(std::move(asking)),
        head_(site.head),
        all_{std::move(site.head)},
        options_(std::move(options)),
        times_(times) {
    std::ranges::move(site.others, std::back_inserter(all_));
    on_nodes_ = make_mpirun_engine(client, all_, {}, options_);
  }

  StartedRun start(const std::string& id, const JobRecord& job, const Cancel& cancel,
                   const std::function<void()>& when_prepared) override {
    SlurmSubmission submission(client_, all_, options_, id, job);
    try {
      return submission.run(cancel, when_prepared);
    } catch (const Error& e) {
      // It may have been submitted by what then broke off.
      const bool is_stopped = stop(id, job).front().ok();
      if (submission.may_run() && !is_stopped) throw JobMayRun(e);
      throw;
    }
  }

  JobTrial try_start(const JobRecord& job, const Cancel& cancel) override {
    return try_slurm_job(client_, all_, options_, job, cancel);
  }

  JobGlance glance(const std::string& id, const JobRecord& job, Asking how) override {
    const Cancel never;
    const auto answer = ask_slurm(client_, head_.host, id, limit_of(how, kGlanceAtSlurm), never);
    if (!answer) return {.is_unknown = true};
    const SlurmJob& seen = *answer;
    if (seen.phase != SlurmPhase::ended) {
      return {.began = beginning_of(seen),
              .waits = seen.phase == SlurmPhase::waiting,
              .reason = idle_reason(seen),
              .nodes = seen.nodes,
              .engine_id = seen.id};
    }
    note_slurm_end(client_, head_.host, id, seen, never);
    if (seen.state != "COMPLETED") forget_secrets(id);
    JobReport report = glance_at_nodes(client_, hosts(), spread(job), commands(id),
                                       limit_of(how, kSoon), anywhere({}));
    complete(report, job);
    return {.outcome = decide_slurm(std::move(report), seen), .nodes = seen.nodes};
  }

  JobOutcome follow(const std::string& id, const JobRecord& job, OnCancel on_cancel,
                    const FollowingOptions& options, JobObserver& observer,
                    const Cancel& cancel) override {
    LinkedCancel link(cancel);
    SlurmWatch watch(*asking_, head_.host, times_, id, link, observer);
    FollowingOptions with_watch = anywhere(options);
    with_watch.when_rank_fails = [&watch] { watch.look_now(); };
    with_watch.when_launcher_begins = [&watch] { watch.wait_longer(); };
    Following following(client_, hosts(), spread(job), commands(id), with_watch, observer);
    following.run(link.both());
    watch.end();
    JobReport seen = report_of(following, job);
    if (!seen.launcher && cancel.requested()) {
      if (on_cancel == OnCancel::leave_job)
        throw Error(ErrorKind::interrupted, "interrupted; job " + id + " is still running");
      const NodeAnswer stopped = cancel_in_slurm(id, job);
      if (!stopped.result.ok()) throw stopped.result.error().during("stopping job " + id);
      following.catch_up(kSoon);
      seen = report_of(following, job);
      seen.cancelled = true;
      SlurmJob end = forgotten_slurm_job();
      end.cleaning = nodes_that_slurm_cleans(stopped);
      return decide_slurm(std::move(seen), end);
    }
    if (const auto failure = watch.failure(); failure && !seen.launcher)
      throw failure->during("job " + id);
    if (!seen.launcher) throw lost_contact(seen);
    auto end = watch.job();
    if (!end) end = job_in_record(*seen.launcher);
    if (!seen.launcher->how.ok()) forget_secrets(id, seen.ranks);
    const bool lacks_agents = all_.size() > 1 && may_lack_agents(seen);
    if (lacks_agents) look_for_slurm_agents_again(client_, head_.host, options_, id);
    if (!end)  // Another fastgpu has seen the end first.
      end = ask_slurm(client_, head_.host, id, kSlurmAnswerTimeout, cancel);
    const SlurmJob last = settled(end.value_or(forgotten_slurm_job()), *seen.launcher);
    JobOutcome outcome = decide_slurm(std::move(seen), last);
    if (lacks_agents && !outcome.first_rank)
      outcome.reason += "; the next job installs fastgpu's agent where it is missing";
    return outcome;
  }

  void await_end(const std::string& id, const JobRecord&, const Cancel& cancel) override {
    for (SlurmLooks looks = kFirstLooks; !cancel.requested(); looks = kLaterLooks) {
      const NodeAnswer answer = await_slurm(client_, head_.host, id, looks, cancel);
      if (!answer.result.ok()) throw answer.result.error().during("job " + id);
      if (!still_runs(answer)) return;
    }
  }

  std::vector<HostResult<ssh::Exit>> stop(const std::string& id, const JobRecord& job) override {
    return {cancel_in_slurm(id, job).result};
  }

  void logs(const std::string& id, const JobRecord& job, const LogRequest& request,
            JobObserver& observer, const Cancel& cancel) override {
    if (request.rank) require_rank(id, job.placement, *request.rank);
    FollowingOptions options = anywhere({});
    options.tail = request.tail;
    options.since = request.since;
    options.times = request.times;
    options.backlog_first = request.backlog_first;
    options.are_nodes_gone = request.are_nodes_gone;
    if (request.rank) options.ranks = std::set<int>{*request.rank};
    LinkedCancel link(cancel);
    Following following(client_, hosts(), spread(job), commands(id), options, observer);
    if (request.mode == LogMode::what_there_is) return following.read_all(cancel);
    SlurmWatch watch(*asking_, head_.host, times_, id, link, observer);
    following.run(link.both());
    watch.end();
    if (const auto failure = watch.failure()) throw Error(*failure);
    const JobReport seen = following.report();
    if (!seen.launcher && !seen.lost.empty()) throw lost_contact(seen);
  }

  std::vector<HostResult<ssh::Exit>> remove(const std::string& id, const JobRecord& job,
                                            const Cancel& cancel) override {
    return on_nodes_->remove(id, {.spec = job.spec, .placement = spread(job)}, cancel);
  }

 private:
  Error lost_contact(const JobReport& seen) const {
    return {ErrorKind::transient,
            "lost contact with " + head_.host.name.value + ": " +
                (seen.lost.empty() ? "it does not answer" : seen.lost.front().why)};
  }

  std::vector<ssh::Host> hosts() const {
    std::vector<ssh::Host> hosts;
    for (const ClusterNode& node : all_)
      hosts.push_back(node.host);
    return hosts;
  }

  /// Returns where ranks may be: each on each node, since Slurm places them.
  std::vector<NodeRanks> spread(const JobRecord& job) const {
    std::vector<NodeRanks> places;
    for (const ClusterNode& node : all_) {
      places.push_back(job.placement.front());
      places.back().node = node.host.name;
    }
    return places;
  }

  FollowingOptions anywhere(FollowingOptions options) const {
    options.renew_lease = Renewal::no;  // Slurm keeps the job, whatever becomes of this machine.
    options.lost_after = options_.lost_after;
    options.anywhere = true;
    options.keeps_connections = true;  // The secrets on the nodes are removed right after the end.
    options.agent = options_.agent;
    return options;
  }

  static void complete(JobReport& report, const JobRecord& job) {
    report.placement = job.placement;
    report.timeout = job.spec.timeout;
  }

  static JobReport report_of(const Following& following, const JobRecord& job) {
    JobReport report = following.report();
    complete(report, job);
    return report;
  }

  /// Cancels the job, and records that. The answer has the nodes on which Slurm is still ending it.
  NodeAnswer cancel_in_slurm(const std::string& id, const JobRecord& job) {
    const Cancel never;
    const auto limit = std::chrono::ceil<std::chrono::seconds>(job.spec.grace) + kSlurmToStop;
    NodeAnswer answer =
        ask(client_,
            {slurm_task(head_.host, {"cancel", job_directory(id), std::to_string(limit.count())})},
            limit + kSlurmAnswerTimeout, never)
            .front();
    if (const auto error = failure_of_call(answer)) {
      answer.result.outcome = *error;
      return answer;
    }
    try {
      note_slurm_cancel(client_, head_.host, id, never);
    } catch (const Error& e) {
      answer.result.outcome = e;
    }
    forget_secrets(id);
    return answer;
  }

  /// Removes the variables of a job that did not succeed from the nodes that have home directories
  /// of their own. The last of the `ended` ranks of a node has removed them there.
  void forget_secrets(const std::string& id, std::span<const agent::RankEnd> ended = {}) {
    if (all_.size() == 1) return;  // They go with the record of the end.
    const Cancel never;
    std::vector<NodeTask> tasks;
    for (const ClusterNode& node : all_) {
      const bool is_done = std::ranges::any_of(
          ended, [&](const agent::RankEnd& end) { return end.host == node.host.name.value; });
      if (!is_done) tasks.push_back(slurm_task(node.host, {"forget", job_directory(id)}));
    }
    if (!tasks.empty()) ask(client_, tasks, kSoon, never, kSoon);
  }

  NodeCommands commands(const std::string& id) const { return {options_.agent.hash, id}; }

  ssh::Client& client_;
  std::unique_ptr<ssh::Client> asking_;
  ClusterNode head_;
  std::vector<ClusterNode> all_;  ///< The head is the first.
  RunnerOptions options_;
  SlurmTimes times_;
  std::unique_ptr<JobEngine> on_nodes_{};  ///< Removes files, as for mpirun's jobs.
};

}  // namespace

std::unique_ptr<JobEngine> make_slurm_engine(ssh::Client& client,
                                             std::unique_ptr<ssh::Client> asking, SlurmSite site,
                                             RunnerOptions options, SlurmTimes times) {
  return std::make_unique<SlurmEngine>(client, std::move(asking), std::move(site),
                                       std::move(options), times);
}

}  // namespace fastgpu::launcher
