#include "launcher/mpirun_engine.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "base/random.hpp"
#include "launcher/departed_nodes.hpp"
#include "launcher/fan_out.hpp"
#include "launcher/following.hpp"
#include "launcher/full_temporary.hpp"
#include "launcher/glance.hpp"
#include "launcher/job_launch.hpp"
#include "launcher/job_outcome.hpp"
#include "launcher/job_stop.hpp"
#include "launcher/job_trial.hpp"
#include "launcher/leftover_processes.hpp"
#include "launcher/log_nodes.hpp"
#include "launcher/slow_network.hpp"

namespace fastgpu::launcher {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLastWords{5'000};
constexpr milliseconds kStacks{60'000};  ///< The limit for the stacks of a job that hangs.
constexpr milliseconds kGlance{2'000};

/// Throws transient for the first node that was lost before the job had ended.
void require_end(const JobReport& seen) {
  if (seen.launcher || seen.lost.empty()) return;
  throw Error(ErrorKind::transient, seen.lost.front().node.value + ": " + seen.lost.front().why);
}

/// The engine mpirun: ranks on the nodes of the cluster, under a supervisor on the first of them.
class MpirunEngine final : public JobEngine {
 public:
  MpirunEngine(ssh::Client& client, std::vector<ClusterNode> nodes, ClusterAccess access,
               RunnerOptions options)
      : client_(client),
        nodes_(std::move(nodes)),
        access_(std::move(access)),
        options_(std::move(options)) {}

  JobTrial try_start(const JobRecord& job, const Cancel& cancel) override {
    const JobFilesRequest request = request_for("trial", job, {});
    return {.outcome = try_on_nodes(client_, nodes_, options_, request, cancel)};
  }

  /// After the return the job runs under its supervisor. The warning reports why the nodes' fastest
  /// network is not used.
  StartedRun start(const std::string& id, const JobRecord& job, const Cancel& cancel,
                   const std::function<void()>& when_prepared) override {
    const JobFilesRequest request = request_for(id, job, options_.owner());
    JobLaunch launch(client_, nodes_, options_, request);
    bool is_starting = false;
    try {
      const auto facts = launch.prepare(cancel);
      std::string slow = check_fabric(request, facts);
      const std::string tableless = launch.put_rank_table(facts, cancel);
      if (!tableless.empty()) append_item(slow, tableless, "; ");
      if (when_prepared) when_prepared();
      is_starting = true;
      launch.start(facts, cancel);
      return {.warning = std::move(slow)};
    } catch (const JobIdTaken&) {
      throw;  // The job that has the id goes on.
    } catch (const NodesSilent&) {
      throw;  // Nothing of it is left; a mark that it was stopped would prevent another start.
    } catch (const Error& e) {
      // It may have been started by what then broke off. The first node starts it, and the others
      // end with it.
      const bool is_stopped = stop(id, job, kReachSoon).front().ok();
      if (is_starting && !is_stopped) throw JobMayRun(e);
      throw;
    }
  }

  JobOutcome follow(const std::string& id, const JobRecord& job, OnCancel on_cancel,
                    const FollowingOptions& options, JobObserver& observer,
                    const Cancel& cancel) override {
    FollowingOptions wanted = options;
    wanted.keeps_connections = true;  // After a cancel the same nodes stop the job.
    wanted.lost_after = options_.lost_after;
    wanted.hang_timeout = job.spec.hang_timeout;
    wanted.agent = options_.agent;
    wanted.supervisor = job.placement.front().node;
    const JobMembers members = nodes_.members_of(job.placement);
    for (const NodeName& node : members.left)
      observer.node_left(node);
    Following following(client_, members.hosts, members.placement, commands(id), wanted, observer);
    if (contains(members.left, *wanted.supervisor)) {
      following.read_all(cancel);
      return outcome_without(members.left);
    }
    try {
      following.run(cancel);
    } catch (const Error&) {
      // A node's answer is final: what cannot be followed is not left running on the others.
      if (on_cancel == OnCancel::stop_job) stop(id, job, kReachSoon);
      throw;
    }
    JobReport seen = following.report();
    if (!seen.hanging.empty()) show_stacks(id, job, seen.hanging, observer, cancel);
    const bool cancelled = !seen.launcher && cancel.requested();
    if (cancelled && on_cancel == OnCancel::leave_job)
      throw Error(ErrorKind::interrupted, "interrupted; job " + id + " is still running");
    if (!seen.launcher) {
      stop(id, job, kReachSoon);
      following.catch_up(kLastWords);
      const std::set<int> hanging = std::move(seen.hanging);
      seen = following.report();
      seen.hanging = hanging;
    } else if (needs_sweep(seen, job.spec)) {
      stop(id, job, kReachSoon);
    }
    seen.cancelled = cancelled;
    seen.hang_timeout = job.spec.hang_timeout;
    JobOutcome outcome = outcome_of(std::move(seen), job);
    outcome.without_folder = following.nodes_without_job();
    return outcome;
  }

  JobGlance glance(const std::string& id, const JobRecord& job, Asking how) override {
    FollowingOptions options;
    options.needs_begin = true;
    options.keeps_connections = true;  // `cancel job` stops the job over the same ones.
    options.agent = options_.agent;
    options.supervisor = job.placement.front().node;
    JobMembers members = nodes_.members_of(job.placement);
    JobReport report =
        glance_at_nodes(client_, std::move(members.hosts), std::move(members.placement),
                        commands(id), limit_of(how, kGlance), options);
    if (!report.launcher) return {.is_unknown = report.is_unknown, .silence = report.silence};
    if (leaves_processes(*report.launcher, job.spec)) stop(id, job, kReachSoon);
    return {.outcome = outcome_of(std::move(report), job)};
  }

  /// Waits at the first node alone: its supervisor ends last.
  void await_end(const std::string& id, const JobRecord& job, const Cancel& cancel) override {
    const NodeRanks& first = job.placement.front();
    await_end_at(client_, nodes_.at(first.node).host, first, commands(id), options_.agent, cancel);
  }

  std::vector<HostResult<ssh::Exit>> stop(const std::string& id, const JobRecord& job) override {
    return stop(id, job, kReach);
  }

  void logs(const std::string& id, const JobRecord& job, const LogRequest& request,
            JobObserver& observer, const Cancel& cancel) override {
    FollowingOptions options;
    options.tail = request.tail;
    options.since = request.since;
    options.times = request.times;
    options.backlog_first = request.backlog_first;
    options.keeps_connections = request.backlog_first;  // What is followed comes over the same.
    options.renew_lease = Renewal::no;
    options.lost_after = options_.lost_after;
    options.agent = options_.agent;
    options.supervisor = job.placement.front().node;
    options.are_nodes_gone = request.are_nodes_gone;
    if (request.rank) options.ranks = std::set<int>{*request.rank};
    const JobMembers members = nodes_.members_of(nodes_with_logs(id, job.placement, request));
    if (!members.placement.empty()) {
      Following following(client_, members.hosts, members.placement, commands(id), options,
                          observer);
      const bool knows_end = contains(members.placement, *options.supervisor, &NodeRanks::node);
      if (request.mode == LogMode::follow && knows_end) {
        following.run(cancel);
        if (!cancel.requested()) {
          following.require_answers();
          require_end(following.report());
        }
      } else {
        following.read_all(cancel);
      }
    }
    if (!members.left.empty()) throw output_missing_from(members.left);
  }

  std::vector<HostResult<ssh::Exit>> remove(const std::string& id, const JobRecord& job,
                                            const Cancel& cancel) override {
    std::vector<NodeTask> tasks;
    for (const ssh::Host& host : nodes_.members_of(job.placement).hosts)
      tasks.push_back({.host = host, .command = commands(id).remove()});
    std::vector<HostResult<ssh::Exit>> results;
    for (NodeAnswer& answer : ask_agent(client_, tasks, options_.agent, kStartTimeout, cancel))
      results.push_back(confirmation(std::move(answer)));
    return results;
  }

 private:
  /// Decides. If the launcher has failed by itself, asks the nodes for full directories of
  /// temporary files first.
  JobOutcome outcome_of(JobReport seen, const JobRecord& job) {
    seen.lease = options_.lease;
    seen.timeout = job.spec.timeout;
    seen.launcher_name = name_of_launcher(job.spec.launcher);
    seen.cluster = access_.cluster_name;
    for (std::size_t i = 0; i < job.placement.size(); ++i)
      if (const ClusterNode* node = nodes_.find(job.placement[i].node))
        seen.names.push_back({mpirun_name(node->peer, i), job.placement[i].node});
    JobOutcome outcome = decide(seen);
    if (outcome.cause != JobEndCause::launcher) return outcome;
    seen.temporary_faults =
        find_temporary_faults(client_, nodes_.members_of(job.placement).hosts, kReachSoon);
    return decide(seen);
  }

  JobFilesRequest request_for(const std::string& id, const JobRecord& job,
                              std::string owner) const {
    validate(job.spec);
    JobFilesRequest request{.id = id,
                            .spec = job.spec,
                            .nodes = {},
                            .access = access_,
                            .communicator_secret = Secret(random_hex(32)),
                            .lease = options_.lease,
                            .owner = std::move(owner)};
    for (const NodeRanks& ranks : job.placement)
      request.nodes.push_back({.ranks = ranks, .peer = nodes_.at(ranks.node).peer});
    return request;
  }

  void show_stacks(const std::string& id, const JobRecord& job, const std::set<int>& ranks,
                   JobObserver& observer, const Cancel& cancel) {
    std::vector<NodeTask> tasks;
    for (const NodeRanks& node_ranks : job.placement) {
      const bool has_one = std::ranges::any_of(ranks, [&](int rank) {
        return rank >= node_ranks.first && rank < node_ranks.first + node_ranks.count;
      });
      if (const ClusterNode* there = has_one ? nodes_.find(node_ranks.node) : nullptr)
        tasks.push_back({.host = there->host, .command = commands(id).stacks()});
    }
    for (const NodeAnswer& answer : ask(client_, tasks, kStacks, cancel))
      if (answer.result.ok() && !answer.out.empty())
        observer.stacks(answer.result.host, answer.out);
  }

  std::vector<HostResult<ssh::Exit>> stop(const std::string& id, const JobRecord& job,
                                          milliseconds reach) {
    return stop_on_nodes(client_, nodes_.members_of(job.placement), job.placement.front().node,
                         commands(id), options_.agent, {.reach = reach, .grace = job.spec.grace});
  }

  NodeCommands commands(const std::string& id) const { return {options_.agent.hash, id}; }

  ssh::Client& client_;
  ClusterNodes nodes_;
  ClusterAccess access_;
  RunnerOptions options_;
};

}  // namespace

std::unique_ptr<JobEngine> make_mpirun_engine(ssh::Client& client, std::vector<ClusterNode> nodes,
                                              ClusterAccess access, RunnerOptions options) {
  return std::make_unique<MpirunEngine>(client, std::move(nodes), std::move(access),
                                        std::move(options));
}

}  // namespace fastgpu::launcher
