#include "launcher/mpirun_engine.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "agent/protocol/exit_codes.hpp"
#include "agent/protocol/plan.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "base/random.hpp"
#include "launcher/engines/rank_table.hpp"
#include "launcher/fan_out.hpp"
#include "launcher/following.hpp"
#include "launcher/full_temporary.hpp"
#include "launcher/glance.hpp"
#include "launcher/job_outcome.hpp"
#include "launcher/placement.hpp"
#include "launcher/reach.hpp"
#include "launcher/slow_network.hpp"

namespace fastgpu::launcher {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStartTimeout{60'000};  ///< The limit for writing files and starting.
/// The time to reach each node that a job is stopped on, in a command that has reached it before.
constexpr milliseconds kReachSoon{1'300};
/// A command that only stops a job waits longer: a node whose cores all compute answers late.
constexpr milliseconds kReach{10'000};
/// The time that a node needs to end all of a job, in addition to the grace of its programs.
constexpr milliseconds kToStop{10'000};
constexpr milliseconds kLastWords{5'000};
constexpr milliseconds kStacks{60'000};  ///< The limit for the stacks of a job that hangs.
constexpr milliseconds kGlance{2'000};

/// Returns the outcome of ranks that cannot begin on a node, as the agent's trial there has it: the
/// exit code is that of the ranks themselves. Absent for any other answer.
std::optional<JobOutcome> never_begun(const NodeAnswer& answer) {
  if (!answer.result.ok()) return std::nullopt;
  const int code = answer.result.value().code();
  if (code != agent::kNotAllowed && code != agent::kNotThere) return std::nullopt;
  return JobOutcome{
      .state = state::JobState::failed,
      .exit_code = code,
      .reason = answer.result.host.value + ": " + answer.err.substr(0, answer.err.find('\n'))};
}

/// Returns true if the node cannot be reached, or the connection to it was lost.
bool is_silent(const NodeAnswer& answer) {
  return !answer.result.ok() && answer.result.error().kind() == ErrorKind::transient;
}

std::vector<RankTableNode> rank_table_nodes(const JobFilesRequest& request,
                                            std::span<const agent::JobNodeFacts> facts) {
  std::vector<RankTableNode> nodes;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const JobNode& member = request.nodes[i];
    nodes.push_back({.name = member.ranks.node,
                     .address = member.peer.address,
                     .npus = facts[i].npus,
                     .ranks = member.ranks.count * std::max(1, member.ranks.workers)});
  }
  return nodes;
}

bool have_all_ended(const JobReport& seen) {
  return seen.ranks.size() == static_cast<std::size_t>(total_ranks(seen.placement));
}

/// Returns true if processes of the job may stay on nodes other than the first, although the job
/// has not ended well. A rank that has ended well leaves its daemons if that was asked for.
bool leaves_processes(const agent::JobEnd& end, const JobSpec& spec) {
  const bool is_well = end.cause == agent::StopCause::none && end.how.ok();
  return spec.leftovers == Leftovers::kept && !is_well;
}

/// Returns "node demo-2 is", "nodes demo-1, demo-2 are".
std::string subject_of(std::span<const NodeName> nodes) {
  std::string names;
  for (const NodeName& node : nodes)
    append_item(names, node.value);
  return nodes.size() == 1 ? "node " + names + " is" : "nodes " + names + " are";
}

Error missing_logs(std::span<const NodeName> left) {
  return {ErrorKind::not_found, subject_of(left) +
                                    " no longer in the cluster: the output of the ranks there is "
                                    "missing"};
}

/// Returns the outcome of a job whose first node, the one that knows its end, has left the cluster.
JobOutcome left_by(const std::vector<NodeName>& nodes) {
  JobOutcome outcome{.state = state::JobState::lost,
                     .exit_code = 1,
                     .reason = subject_of(nodes) + " no longer in the cluster"};
  outcome.cause = JobEndCause::node_loss;
  outcome.lost = nodes;
  return outcome;
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

  /// Checks that the nodes answer, and that mpirun, the working directory and a program that is
  /// named by a path exist.
  JobTrial try_start(const JobRecord& job, const Cancel& cancel) override {
    const JobFilesRequest request = request_for("trial", job, {});
    const NodeCommands on_node = commands(request.id);
    std::vector<NodeTask> tasks;
    for (const JobNode& member : request.nodes)
      tasks.push_back(
          {.host = node(member.ranks.node).host, .command = on_node.trial_facts(job.spec)});
    const auto answers = ask_agent(client_, tasks, options_.agent, kStartTimeout, cancel);
    for (const NodeAnswer& answer : answers)
      if (const auto outcome = never_begun(answer)) return {.outcome = outcome};
    check(answers, "trying job " + job.spec.name.value);
    std::vector<agent::JobNodeFacts> facts;
    for (const NodeAnswer& answer : answers)
      facts.push_back(agent::parse_node_facts(answer.out));
    start_files(request, facts, on_node);  // Throws where a launcher is missing or unknown.
    check_fabric(request, facts);
    std::vector<NodeTask> questions;
    std::vector<ReachAnswer> reached;
    for (std::size_t i = 0; i < request.nodes.size(); ++i)
      if (const auto words = reach_words_for(request, facts, i); !words.empty()) {
        questions.push_back(
            {.host = node(request.nodes[i].ranks.node).host, .command = on_node.reach(words)});
        reached.push_back({.place = i});
      }
    const auto said = ask(client_, questions, kStartTimeout, cancel);
    check(said, "trying the network of job " + job.spec.name.value);
    for (std::size_t i = 0; i < said.size(); ++i)
      reached[i].text = said[i].out;
    check_reach(request, facts, reached);
    return {};
  }

  /// Writes the job's files on its nodes and starts it. After the return the job runs under its
  /// supervisor. The directory of the job exists on every node before `when_prepared` is called.
  /// The warning reports why the nodes' fastest network is not used.
  StartedRun start(const std::string& id, const JobRecord& job, const Cancel& cancel,
                   const std::function<void()>& when_prepared) override {
    const JobFilesRequest request = request_for(id, job, options_.owner());
    bool is_starting = false;
    try {
      const auto facts = put_ranks(request, cancel);
      std::string slow = check_fabric(request, facts);
      const std::string tableless = put_rank_table(request, facts, cancel);
      if (!tableless.empty()) append_item(slow, tableless, "; ");
      if (when_prepared) when_prepared();
      is_starting = true;
      put_and_start(request, facts, cancel);
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
    wanted.ends_hangs = job.spec.hang_timeout.count() > 0;
    wanted.agent = options_.agent;
    wanted.supervisor = job.placement.front().node;
    const Members members = members_of(job.placement);
    for (const NodeName& node : members.left)
      observer.node_left(node);
    Following following(client_, members.hosts, members.placement, commands(id), wanted, observer);
    if (contains(members.left, *wanted.supervisor)) {
      following.read_all(cancel);
      return left_by(members.left);
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
    if (cancelled || !seen.launcher) {
      stop(id, job, kReachSoon);
      following.catch_up(kLastWords);
      const std::set<int> hanging = std::move(seen.hanging);
      seen = following.report();
      seen.hanging = hanging;
    } else if ((!seen.launcher->how.ok() && !have_all_ended(seen)) ||
               leaves_processes(*seen.launcher, job.spec)) {
      // mpirun has ended; what it could not reach any more is ended by its marker.
      stop(id, job, kReachSoon);
    }
    seen.cancelled = cancelled;
    seen.lease = options_.lease;
    seen.timeout = job.spec.timeout;
    seen.hang_timeout = job.spec.hang_timeout;
    seen.launcher_name = name_of_launcher(job.spec.launcher);
    seen.cluster = access_.cluster_name;
    return outcome_of(std::move(seen), job);
  }

  JobGlance glance(const std::string& id, const JobRecord& job, Asking how) override {
    FollowingOptions options;
    options.needs_begin = true;
    options.keeps_connections = true;  // `cancel job` looks first, and then stops the job.
    options.agent = options_.agent;
    options.supervisor = job.placement.front().node;
    Members members = members_of(job.placement);
    JobReport report =
        glance_at_nodes(client_, std::move(members.hosts), std::move(members.placement),
                        commands(id), limit_of(how, kGlance), options);
    if (!report.launcher) return {.is_unknown = report.is_unknown, .silence = report.silence};
    if (leaves_processes(*report.launcher, job.spec)) stop(id, job, kReachSoon);
    report.lease = options_.lease;
    report.timeout = job.spec.timeout;
    report.launcher_name = name_of_launcher(job.spec.launcher);
    report.cluster = access_.cluster_name;
    return {.outcome = outcome_of(std::move(report), job)};
  }

  /// Waits at the first node alone: its supervisor ends last.
  void await_end(const std::string& id, const JobRecord& job, const Cancel& cancel) override {
    const NodeRanks& first = job.placement.front();
    await_end_at(client_, node(first.node).host, first, commands(id), options_.agent, cancel);
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
    options.renew_lease = Renewal::no;
    options.lost_after = options_.lost_after;
    options.agent = options_.agent;
    options.supervisor = job.placement.front().node;
    std::vector<NodeRanks> placement = job.placement;
    if (request.rank) {
      options.ranks = std::set<int>{*request.rank};
      require_rank(id, placement, *request.rank);
      const NodeName where = node_of(placement, *request.rank);
      // The first node stays: it knows when the job has ended.
      const bool follows = request.mode == LogMode::follow;
      std::erase_if(placement, [&](const NodeRanks& ranks) {
        return ranks.node != where && !(follows && ranks.node == job.placement.front().node);
      });
    }
    std::erase_if(placement,
                  [&](const NodeRanks& ranks) { return contains(request.left_out, ranks.node); });
    const Members members = members_of(placement);
    if (!members.placement.empty()) {
      Following following(client_, members.hosts, members.placement, commands(id), options,
                          observer);
      const bool knows_end = contains(members.placement, *options.supervisor, &NodeRanks::node);
      if (request.mode == LogMode::follow && knows_end) {
        following.run(cancel);
        if (!cancel.requested()) following.require_answers();
      } else {
        following.read_all(cancel);
      }
    }
    if (!members.left.empty()) throw missing_logs(members.left);
  }

  std::vector<HostResult<ssh::Exit>> remove(const std::string& id, const JobRecord& job,
                                            const Cancel& cancel) override {
    std::vector<NodeTask> tasks;
    for (const NodeRanks& ranks : job.placement)
      if (const ClusterNode* there = find_node(ranks.node))
        tasks.push_back({.host = there->host, .command = commands(id).remove()});
    std::vector<HostResult<ssh::Exit>> results;
    for (NodeAnswer& answer : ask_agent(client_, tasks, options_.agent, kStartTimeout, cancel))
      results.push_back(confirmation(std::move(answer)));
    return results;
  }

 private:
  /// Decides. If the launcher has failed by itself, asks the nodes for full directories of
  /// temporary files first.
  JobOutcome outcome_of(JobReport seen, const JobRecord& job) {
    JobOutcome outcome = decide(seen);
    if (outcome.cause != JobEndCause::launcher) return outcome;
    seen.temporary_faults =
        find_temporary_faults(client_, members_of(job.placement).hosts, kReachSoon);
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
    for (const NodeRanks& ranks : job.placement) {
      const ClusterNode& place = node(ranks.node);
      request.nodes.push_back({.ranks = ranks, .peer = place.peer});
    }
    return request;
  }

  std::vector<agent::JobNodeFacts> put_ranks(const JobFilesRequest& request, const Cancel& cancel) {
    std::vector<NodeTask> tasks;
    for (const JobNode& member : request.nodes)
      tasks.push_back(
          {.host = node(member.ranks.node).host,
           .command =
               commands(request.id).put_new_files_and_facts(request.spec, options_.retention),
           .input = encode_files(rank_files(request, member))});
    const auto answers = ask_agent(client_, tasks, options_.agent, kStartTimeout, cancel);
    require_free_id(request, answers);
    require_answers(request, answers);
    check(answers, "preparing job " + request.id);
    std::vector<agent::JobNodeFacts> facts;
    for (const NodeAnswer& answer : answers)
      facts.push_back(agent::parse_node_facts(answer.out));
    return facts;
  }

  /// Removes the files on the nodes that have taken them.
  void remove_written(const JobFilesRequest& request, const std::vector<NodeAnswer>& answers) {
    std::vector<NodeTask> written;
    for (const NodeAnswer& answer : answers)
      if (answer.result.ok() && answer.result.value().code() == 0)
        written.push_back(
            {.host = node(answer.result.host).host, .command = commands(request.id).remove()});
    const Cancel never;
    ask(client_, written, kStartTimeout, never);
  }

  /// Throws NodesSilent if nodes cannot be reached, after the files on the other nodes are removed.
  void require_answers(const JobFilesRequest& request, const std::vector<NodeAnswer>& answers) {
    std::vector<NodeName> silent;
    for (const NodeAnswer& answer : answers)
      if (is_silent(answer)) silent.push_back(answer.result.host);
    if (silent.empty()) return;
    remove_written(request, answers);
    try {
      check(answers, "preparing job " + request.id);
    } catch (const Error& e) {
      throw NodesSilent(e, std::move(silent));
    }
  }

  /// Throws JobIdTaken if a node has a job of this id, after the files on the other nodes are
  /// removed.
  void require_free_id(const JobFilesRequest& request, const std::vector<NodeAnswer>& answers) {
    std::string taken;
    for (const NodeAnswer& answer : answers)
      if (answer.result.ok() && answer.result.value().code() == agent::kIdTaken)
        taken = answer.result.host.value;
    if (taken.empty()) return;
    remove_written(request, answers);
    throw JobIdTaken("node " + taken + " has a job " + request.id +
                     " of another machine or state directory");
  }

  /// Puts the rank table of HCCL on nodes with Ascend processors. Returns why it cannot; empty
  /// on other nodes.
  std::string put_rank_table(const JobFilesRequest& request,
                             std::span<const agent::JobNodeFacts> facts, const Cancel& cancel) {
    const auto has_npus = [](const agent::JobNodeFacts& node) { return !node.npus.empty(); };
    if (std::ranges::none_of(facts, has_npus)) return {};
    std::string table;
    try {
      table = rank_table(rank_table_nodes(request, facts));
    } catch (const Error& e) {
      return "there is no rank table for HCCL: " + std::string(e.what());
    }
    const agent::SmallFile file{"jobs/" + request.id + "/" + agent::kRankTable, table};
    std::vector<NodeTask> tasks;
    for (const JobNode& member : request.nodes)
      tasks.push_back({.host = node(member.ranks.node).host,
                       .command = commands(request.id).put_files_and_facts("", options_.retention),
                       .input = agent::encode_files({file})});
    check(ask_agent(client_, tasks, options_.agent, kStartTimeout, cancel),
          "writing the rank table of job " + request.id);
    return {};
  }

  void put_and_start(const JobFilesRequest& request, std::span<const agent::JobNodeFacts> facts,
                     const Cancel& cancel) {
    const NodeCommands on_node = commands(request.id);
    std::vector<NodeTask> tasks;
    std::vector<ReachAnswer> reached;
    const auto first_words = reach_words_for(request, facts, 0);
    tasks.push_back({.host = node(request.nodes.front().ranks.node).host,
                     .command = on_node.put_files_and_start(first_words),
                     .input = encode_files(start_files(request, facts, on_node))});
    if (!first_words.empty()) reached.push_back({.place = 0});
    for (std::size_t i = 1; i < request.nodes.size(); ++i)
      if (const auto words = reach_words_for(request, facts, i); !words.empty()) {
        tasks.push_back(
            {.host = node(request.nodes[i].ranks.node).host, .command = on_node.reach(words)});
        reached.push_back({.place = i});
      }
    auto answers = ask(client_, tasks, kStartTimeout, cancel);
    // A node that becomes silent while it tries the others has its ranks by then, and whoever
    // follows the job reports it.
    for (std::size_t i = 1; i < answers.size(); ++i)
      if (is_silent(answers[i])) answers[i] = {.result = {answers[i].result.host, ssh::Exit{}}};
    check(answers, "starting job " + request.id);
    const std::size_t first = first_words.empty() ? 1 : 0;  // The head tries no others then.
    for (std::size_t i = 0; i < reached.size(); ++i)
      reached[i].text = answers[first + i].out;
    check_reach(request, facts, reached);
  }

  /// Returns the words of the request to the node at `place`; empty if it gets none.
  std::vector<std::string> reach_words_for(const JobFilesRequest& request,
                                           std::span<const agent::JobNodeFacts> facts,
                                           std::size_t place) const {
    if (options_.network_check == NetworkCheck::off || request.nodes.size() == 1) return {};
    return reach_words(request, facts, place);
  }

  void show_stacks(const std::string& id, const JobRecord& job, const std::set<int>& ranks,
                   JobObserver& observer, const Cancel& cancel) {
    std::vector<NodeTask> tasks;
    for (const NodeRanks& node_ranks : job.placement) {
      const bool has_one = std::ranges::any_of(ranks, [&](int rank) {
        return rank >= node_ranks.first && rank < node_ranks.first + node_ranks.count;
      });
      if (const ClusterNode* there = has_one ? find_node(node_ranks.node) : nullptr)
        tasks.push_back({.host = there->host, .command = commands(id).stacks()});
    }
    for (const NodeAnswer& answer : ask(client_, tasks, kStacks, cancel))
      if (answer.result.ok() && !answer.out.empty())
        observer.stacks(answer.result.host, answer.out);
  }

  /// Reaches each node within `to_reach`, or reports it as unreachable. A node that has left the
  /// cluster runs nothing any more.
  std::vector<HostResult<ssh::Exit>> stop(const std::string& id, const JobRecord& job,
                                          milliseconds to_reach) {
    const Cancel never;
    const NodeName& head = job.placement.front().node;
    const Members members = members_of(job.placement);
    std::vector<NodeTask> tasks;
    for (const ssh::Host& host : members.hosts)
      tasks.push_back({.host = host,
                       .command = host.name == head ? commands(id).stop() : commands(id).sweep()});
    // All nodes at once, so that every program has the same time: the first node stops mpirun, too.
    const milliseconds limit = to_reach + job.spec.grace + kToStop;
    std::vector<HostResult<ssh::Exit>> results;
    // A node without the agent cannot confirm that nothing runs there, and gets one.
    for (NodeAnswer& answer : ask_agent(client_, tasks, options_.agent, limit, never, to_reach))
      results.push_back(confirmation(std::move(answer)));
    for (const NodeName& node : members.left)
      results.insert(node == head ? results.begin() : results.end(), {node, ssh::Exit{}});
    return results;
  }

  const ClusterNode* find_node(const NodeName& name) const {
    const auto found = std::ranges::find_if(
        nodes_, [&](const ClusterNode& candidate) { return candidate.host.name == name; });
    return found == nodes_.end() ? nullptr : &*found;
  }

  const ClusterNode& node(const NodeName& name) const {
    if (const ClusterNode* found = find_node(name)) return *found;
    throw Error(ErrorKind::not_found, "node " + name.value + " is no longer in the cluster");
  }

  /// The nodes of a job: those that the cluster has, with their ranks, and those that have left it.
  struct Members {
    std::vector<ssh::Host> hosts{};
    std::vector<NodeRanks> placement{};  ///< One entry for each host.
    std::vector<NodeName> left{};
  };

  Members members_of(std::span<const NodeRanks> placement) const {
    Members members;
    for (const NodeRanks& ranks : placement) {
      if (const ClusterNode* there = find_node(ranks.node)) {
        members.hosts.push_back(there->host);
        members.placement.push_back(ranks);
      } else if (!contains(members.left, ranks.node)) {
        members.left.push_back(ranks.node);
      }
    }
    return members;
  }

  NodeCommands commands(const std::string& id) const { return {options_.agent.hash, id}; }

  ssh::Client& client_;
  std::vector<ClusterNode> nodes_;
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
