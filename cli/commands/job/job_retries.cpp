#include "cli/commands/job/job_retries.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/contains.hpp"
#include "base/units.hpp"
#include "cli/commands/job/notice_watch.hpp"
#include "cli/commands/job/replaced_nodes.hpp"
#include "cli/commands/job/taken_machines.hpp"
#include "cli/commands/job/topology_placement.hpp"
#include "cli/commands/node/remote_output.hpp"
#include "cli/workflows/name_folding.hpp"
#include "cli/workflows/silent_nodes.hpp"
#include "cli/workflows/spot_notices.hpp"
#include "launcher/engines/torchrun.hpp"
#include "launcher/recovery.hpp"
#include "process/command.hpp"
#include "provision/providers.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

using launcher::JobEndCause;

/// The time for lost nodes to answer again.
constexpr std::chrono::minutes kForNodes{5};
constexpr std::chrono::seconds kBetweenTrials{5};
/// The same in a cloud, where a machine may have to be found first.
constexpr std::chrono::minutes kForMachines{15};
constexpr std::chrono::seconds kBetweenMachines{10};

/// Returns the nodes of the job that the cloud has announced to take back.
std::vector<NodeName> taken_back(Context& context, const OpenJob& open) try {
  std::vector<NodeName> nodes;
  for (const Notice& notice :
       notices_of(context, open.cluster, context.store().nodes(open.cluster.id)))
    if (notice.taken_back != 0 &&
        contains(open.record.placement, notice.node, &launcher::NodeRanks::node))
      nodes.push_back(notice.node);
  return nodes;
} catch (const Error&) {
  context.cancel().check();
  return {};
}

/// The time for a cloud to list the machine of a lost node as gone.
constexpr std::chrono::seconds kForTheList{30};

/// Returns true if the cloud has taken machines of the job away, and adds this to the reason.
bool was_taken_away(Context& context, const OpenJob& open, launcher::JobOutcome& outcome) {
  const bool has_lost_node = !outcome.lost.empty();
  const auto taken = taken_without_notice(context, open.cluster, open.record,
                                          has_lost_node ? kForTheList : std::chrono::seconds(0));
  if (taken.empty()) return false;
  std::vector<std::string> names;
  for (const NodeName& node : taken)
    names.push_back(node.value);
  outcome.reason += "; the cloud has taken " + fold_names(names) + " back";
  return true;
}

/// How a run has ended.
struct RunEnd {
  launcher::JobOutcome outcome{};
  JobEndCause cause = JobEndCause::none;
  std::vector<NodeName> taken_back{};  ///< The nodes that the cloud takes back, if it was asked.
};

/// Returns the end of a run. `notices` are those after which it was stopped. Asks a cloud's nodes
/// only where it may make a difference.
RunEnd end_of(Context& context, const OpenJob& open, const launcher::JobOutcome& outcome,
              const std::vector<Notice>& notices) {
  RunEnd end{.outcome = outcome, .cause = outcome.cause};
  // Programs may end by the SIGTERM of the stop before its own answer comes.
  const bool is_stopped =
      outcome.cause == JobEndCause::cancelled || outcome.state == state::JobState::failed;
  if (!notices.empty() && is_stopped && !context.cancel().requested()) {
    end.outcome = outcome_after(notices);
    end.cause = end.outcome.cause;
    for (const Notice& notice : notices)
      end.taken_back.push_back(notice.node);
    return end;
  }
  const auto& retry_on = open.record.spec.retry_on;
  const bool matters = contains(retry_on, JobEndCause::preempted) &&
                       launcher::with_notice(outcome.cause, true) != outcome.cause;
  if (matters) end.taken_back = taken_back(context, open);
  const bool decides = matters && !contains(retry_on, outcome.cause);
  const bool is_taken =
      !end.taken_back.empty() || (decides && was_taken_away(context, open, end.outcome));
  end.cause = launcher::with_notice(outcome.cause, is_taken);
  if (!end.taken_back.empty() && end.outcome.lost.empty()) {
    // The programs have ended by themselves after the notice.
    std::vector<std::string> names;
    for (const NodeName& node : end.taken_back)
      names.push_back(node.value);
    end.outcome.lost = end.taken_back;
    end.outcome.reason += "; the cloud takes " + fold_names(names) + " back";
  }
  return end;
}

/// Keeps the nodes of a target whose names are in `kept`.
RemoteTarget only(RemoteTarget target, const std::vector<launcher::NodeSlots>& kept) {
  RemoteTarget rest{.cluster = target.cluster,
                    .nodes = {},
                    .hosts = {},
                    .heartbeat = std::move(target.heartbeat)};
  for (std::size_t i = 0; i < target.nodes.size(); ++i) {
    if (std::ranges::find(kept, target.nodes[i].name, &launcher::NodeSlots::name) == kept.end())
      continue;
    rest.nodes.push_back(target.nodes[i]);
    rest.hosts.push_back(target.hosts[i]);
  }
  return rest;
}

/// Returns the specification for placing the ranks again: the same number of ranks.
launcher::JobSpec spec_for_placing(const launcher::JobRecord& record) {
  launcher::JobSpec spec = record.spec;
  int ranks = 0;
  for (const launcher::NodeRanks& node : record.placement)
    ranks += node.count * std::max(1, node.workers);
  spec.ranks = ranks;
  return spec;
}

/// Throws interrupted for a cancel, of this process or of the job, and the reason of the end if
/// another command has ended the job in another way. Records the end of a job whose cluster is
/// deleted, and throws it.
void check_not_ended(Context& context, const OpenJob& open) {
  context.cancel().check();
  auto stored = context.store().find_job(open.job.id);
  if (!stored || stored->state == state::JobState::cancelled)
    throw Error(ErrorKind::interrupted, "job " + open.job.id + " was cancelled before its restart");
  if (!launcher::has_ended(*stored)) {
    const auto gone = outcome_of_lost_nodes(context, *stored);
    // The job can do without a node that has left.
    if (!gone || gone->cause == JobEndCause::node_loss) return;
    launcher::mark_ended(context.store(), *stored, *gone);
  }
  throw failure_of(*stored);
}

class Restart {
 public:
  Restart(Context& context, StartedJob& started, const FindTarget& find_target, RunEnd end)
      : context_(context),
        started_(started),
        find_target_(find_target),
        lost_(std::move(end.outcome.lost)),
        leaving_(std::move(end.taken_back)),
        in_cloud_(provision::is_cloud(started.open.cluster.provider)) {
    for (const NodeName& node : leaving_)
      if (!contains(lost_, node)) lost_.push_back(node);
  }

  /// Places the ranks on nodes on which the job can start. Has lost nodes of a cloud replaced if
  /// the job needs them, and waits for nodes that do not answer. Throws the last reason after some
  /// minutes.
  RemoteTarget prepare() {
    const auto deadline = context_.clock().now() + (in_cloud_ ? kForMachines : kForNodes);
    for (Trial trial = Trial::first;; trial = Trial::later) {
      try {
        return try_to_prepare(trial);
      } catch (const Error& e) {
        check_not_ended(context_, started_.open);
        if (context_.clock().now() >= deadline) throw_reason(e);
        const std::string reason = std::string("cannot start again yet: ") + e.what();
        context_.ui().progress("job " + started_.open.job.id + " " + reason);
        launcher::note_wait(context_.store(), started_.open.job.id, reason);
        context_.clock().sleep(in_cloud_ ? kBetweenMachines : kBetweenTrials);
        check_not_ended(context_, started_.open);
      }
    }
  }

 private:
  enum class Trial : std::uint8_t { first, later };

  /// Returns the nodes to choose from. After a failed trial, and if the job needs a lost node, asks
  /// the cloud for new machines. A failure of that matters only if the job needs them.
  RemoteTarget find_nodes_again(Trial trial) {
    std::optional<Error> failure;
    if (in_cloud_ && trial == Trial::later) failure = try_to_replace();
    if (failure && !has_running_nodes()) throw Error(*failure);
    RemoteTarget target = find_target_();
    if (!in_cloud_ || fits_on(target)) return target;
    if (trial == Trial::first) failure = try_to_replace();
    if (failure) throw Error(*failure);
    if (!leaving_.empty())
      throw Error(ErrorKind::capacity,
                  leaving_.front().value + " is taken back by the cloud, and not gone yet");
    return trial == Trial::first ? find_target_() : std::move(target);
  }

  bool has_running_nodes() const {
    const auto nodes = context_.store().nodes(started_.open.cluster.id);
    return contains(nodes, state::NodeState::running, &state::Node::state);
  }

  std::optional<Error> try_to_replace() {
    try {
      const auto& open = started_.open;
      for (const NodeName& node : replace_for_job(context_, open.cluster, open.record.spec)) {
        std::erase(lost_, node);
        std::erase(leaving_, node);
      }
      return std::nullopt;
    } catch (const Error& e) {
      context_.cancel().check();
      return e;
    }
  }

  bool fits_on(const RemoteTarget& target) const {
    return launcher::fits_without(slots_of(target.nodes), lost_,
                                  spec_for_placing(started_.open.record));
  }

  RemoteTarget try_to_prepare(Trial trial) {
    RemoteTarget target = find_nodes_again(trial);
    const launcher::JobSpec spec = spec_for_placing(started_.open.record);
    std::vector<NodeName> avoided = silent_nodes(context_, target);
    avoided.insert(avoided.end(), lost_.begin(), lost_.end());
    const auto kept = launcher::nodes_for_restart(slots_of(target.nodes), avoided, spec);
    target = only(std::move(target), kept);
    launcher::JobRecord& record = started_.open.record;
    launcher::JobRecord placed = record;
    // The job's files are on the nodes that it had.
    const bool has_its_nodes = std::ranges::all_of(record.placement, [&](const auto& node) {
      return std::ranges::find(kept, node.node, &launcher::NodeSlots::name) != kept.end();
    });
    read_topologies(context_, target, spec);
    if (!has_its_nodes) {
      placed.placement = placed_on(context_, target, spec).placement;
      const bool has_torchrun = record.spec.launcher == launcher::Launcher::torchrun;
      if (has_torchrun) placed.placement = launcher::with_torchrun(placed).placement;
    }
    auto engine = engine_to_follow(context_, target.cluster, placed);
    if (const auto refused = engine->try_start(placed, context_.cancel()).outcome)
      throw Error(ErrorKind::remote, refused->reason);
    record.placement = placed.placement;
    started_.engine = std::move(engine);
    started_.open.cluster = target.cluster;
    return target;
  }

  /// Throws the error, and explains it if the job waits for a node that nothing replaces.
  [[noreturn]] void throw_reason(const Error& e) const {
    if (in_cloud_ || lost_.empty()) throw Error(e);
    std::vector<std::string> names;
    for (const NodeName& node : lost_)
      names.push_back(node.value);
    throw Error(e.kind(), fold_names(names) + (names.size() == 1 ? " is" : " are") +
                              " lost, and only nodes in a cloud are replaced; with fewer ranks "
                              "(--np) or --oversubscribe the job fits on the other nodes: " +
                              e.what());
  }

  Context& context_;
  StartedJob& started_;
  const FindTarget& find_target_;
  std::vector<NodeName> lost_;  ///< The nodes that do not answer, and those that leave.
  std::vector<NodeName>
      leaving_;  ///< The nodes that the cloud takes back, until they are replaced.
  bool in_cloud_;
};

/// Returns the job as it would be on record if it were not started again.
state::Job as_failed(const OpenJob& open, const RunEnd& end) {
  state::Job job = open.job;
  launcher::JobRecord record = open.record;
  record.cause = end.cause;
  record.failure = end.outcome.failure;
  record.lost_nodes = end.outcome.lost;
  job.record = std::move(record);
  job.state = end.outcome.state;
  job.exit_code = end.outcome.exit_code;
  job.reason = end.outcome.reason;
  job.ended = std::chrono::system_clock::now();
  return job;
}

/// Waits before a restart. Throws as check_not_ended() does.
void pause_before(Context& context, const OpenJob& open, std::chrono::milliseconds wait) {
  context.clock().sleep(wait);
  check_not_ended(context, open);
}

void restart(Context& context, StartedJob& started, const FindTarget& find_target,
             const RunEnd& end, std::chrono::milliseconds wait) {
  OpenJob& open = started.open;
  const int restarts = open.record.restarts + 1;
  const std::string reason = "ended (" + std::string(state::to_string(end.cause)) +
                             "): " + end.outcome.reason + "; it is started again, " +
                             std::to_string(restarts) + " of " +
                             std::to_string(open.record.spec.retries);
  context.ui().warn("job " + open.job.id + " " + reason);
  launcher::JobOutcome run = end.outcome;
  run.cause = end.cause;
  launcher::note_restart(context.store(), open.job.id, run, reason);
  pause_before(context, open, wait);
  const RemoteTarget target = Restart(context, started, find_target, end).prepare();
  open.record.restarts = restarts;
  open.record.cause = end.cause;
  open.record.spec.input = launcher::Input::none;
  process::set_variable(open.record.spec.environment,
                        "FASTGPU_RESTART_COUNT=" + std::to_string(restarts));
  start_again(context, target, started);
  started.engine = engine_to_follow(context, target.cluster, open.record);
}

}  // namespace

std::unique_ptr<launcher::JobEngine> engine_to_follow(Context& context,
                                                      const state::Cluster& cluster,
                                                      const launcher::JobRecord& record) {
  constexpr std::chrono::seconds kLostAfter{15};
  constexpr std::chrono::minutes kLostWhenDetached{10};
  const bool is_detached = record.spec.presence == launcher::Presence::detached;
  return engine_for(context, cluster, record, is_detached ? kLostWhenDetached : kLostAfter);
}

int follow_with_retries(Context& context, StartedJob& started, const FindTarget& find_target,
                        FollowOptions request, const WhenRunFailed& when_run_failed) {
  for (;;) {
    RunEnd ended;
    std::optional<std::chrono::milliseconds> wait;
    auto watch = watch_for_notices(context, started.open);
    request.goes_on = [&](launcher::JobOutcome& outcome) {
      ended =
          end_of(context, started.open, outcome, watch ? watch->notices() : std::vector<Notice>());
      const launcher::JobRecord& record = started.open.record;
      wait = launcher::wait_before_restart(record.spec, ended.cause, record.restarts);
      if (wait) return true;
      outcome = ended.outcome;
      outcome.cause = ended.cause;
      outcome.reason += launcher::reason_against_restart(record.spec, ended.cause, record.restarts);
      return false;
    };
    const int code = follow_job(context, *started.engine, started.open, request);
    watch.reset();
    if (!wait) return code;
    when_run_failed(as_failed(started.open, ended));
    try {
      restart(context, started, find_target, ended, *wait);
    } catch (const launcher::JobMayRun&) {
      throw;  // It stays on record.
    } catch (const Error& e) {
      const bool is_stopped = e.kind() == ErrorKind::interrupted;
      launcher::JobOutcome last = ended.outcome;
      last.reason += is_stopped ? "" : "; it could not be started again: " + std::string(e.what());
      if (is_stopped)
        last = {.state = state::JobState::cancelled, .exit_code = 130, .reason = e.what()};
      // Another command may have recorded the end meanwhile.
      const std::string& id = started.open.job.id;
      state::Job job = context.store().find_job(id).value_or(started.open.job);
      launcher::mark_ended(context.store(), job, last);
      throw;
    }
    request.input = nullptr;
  }
}

}  // namespace fastgpu::cli
