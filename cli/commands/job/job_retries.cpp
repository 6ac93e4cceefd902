#include "cli/commands/job/job_retries.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/units.hpp"
#include "cli/commands/job/topology_placement.hpp"
#include "cli/commands/node/remote_output.hpp"
#include "cli/workflows/spot_notices.hpp"
#include "launcher/binding.hpp"
#include "launcher/engines/torchrun.hpp"
#include "launcher/recovery.hpp"
#include "process/command.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

using launcher::JobEndCause;

/// The time for lost nodes to answer again.
constexpr std::chrono::minutes kForNodes{5};
constexpr std::chrono::seconds kBetweenTrials{5};

/// Returns true if the cloud has announced that it takes a node of the job back.
bool is_taken_back(Context& context, const OpenJob& open) try {
  const auto nodes = context.store().nodes(open.cluster.id);
  for (const Notice& notice : notices_of(context, open.cluster, nodes))
    if (notice.taken_back != 0 &&
        std::ranges::find(open.record.placement, notice.node, &launcher::NodeRanks::node) !=
            open.record.placement.end())
      return true;
  return false;
} catch (const Error&) {
  context.cancel().check();
  return false;
}

/// Returns the cause of the job's end. Asks a cloud's nodes only where it may make a difference.
JobEndCause cause_of(Context& context, const OpenJob& open, const launcher::JobOutcome& outcome) {
  const auto& causes = open.record.spec.retry_on;
  const bool matters = std::ranges::find(causes, JobEndCause::preempted) != causes.end() &&
                       launcher::with_notice(outcome.cause, true) != outcome.cause;
  return matters ? launcher::with_notice(outcome.cause, is_taken_back(context, open))
                 : outcome.cause;
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

class Restart {
 public:
  Restart(Context& context, StartedJob& started, const FindTarget& find_target)
      : context_(context), started_(started), find_target_(find_target) {}

  /// Places the ranks on nodes on which the job can start. Waits for nodes that do not answer.
  /// Throws the last reason after five minutes.
  RemoteTarget prepare(const std::vector<NodeName>& lost) {
    const auto deadline = context_.clock().now() + kForNodes;
    for (;;) {
      try {
        return try_to_prepare(lost);
      } catch (const Error& e) {
        context_.cancel().check();
        if (context_.clock().now() >= deadline) throw;
        context_.ui().progress("job " + started_.open.job.id +
                               " cannot start again yet: " + e.what());
        context_.clock().sleep(kBetweenTrials);
      }
    }
  }

 private:
  RemoteTarget try_to_prepare(const std::vector<NodeName>& lost) {
    RemoteTarget target = find_target_();
    const launcher::JobSpec spec = spec_for_placing(started_.open.record);
    const auto kept = launcher::nodes_for_restart(slots_of(target.nodes), lost, spec);
    target = only(std::move(target), kept);
    launcher::JobRecord& record = started_.open.record;
    launcher::JobRecord placed = record;
    // The job's files are on the nodes that it had.
    const bool has_its_nodes = std::ranges::all_of(record.placement, [&](const auto& node) {
      return std::ranges::find(kept, node.node, &launcher::NodeSlots::name) != kept.end();
    });
    if (!has_its_nodes) {
      const auto topologies = place_by_topology(context_, target, spec);
      placed.placement = placed_on(context_, target, spec).placement;
      launcher::bind_ranks(placed.placement, topologies, spec.per);
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

  Context& context_;
  StartedJob& started_;
  const FindTarget& find_target_;
};

/// Waits before a restart. Throws interrupted for a cancel, of this process or of the job.
void pause_before(Context& context, const OpenJob& open, std::chrono::milliseconds wait) {
  context.clock().sleep(wait);
  context.cancel().check();
  const auto stored = context.store().find_job(open.job.id);
  if (!stored || launcher::has_ended(*stored))
    throw Error(ErrorKind::interrupted, "job " + open.job.id + " was cancelled before its restart");
}

void restart(Context& context, StartedJob& started, const FindTarget& find_target,
             const launcher::JobOutcome& outcome, JobEndCause cause,
             std::chrono::milliseconds wait) {
  OpenJob& open = started.open;
  const int restarts = open.record.restarts + 1;
  context.ui().warn("job " + open.job.id + " ended (" + std::string(state::to_string(cause)) +
                    "): " + outcome.reason + "; it is started again, " + std::to_string(restarts) +
                    " of " + std::to_string(open.record.spec.retries));
  pause_before(context, open, wait);
  const RemoteTarget target = Restart(context, started, find_target).prepare(outcome.lost);
  open.record.restarts = restarts;
  open.record.cause = cause;
  open.record.spec.input = launcher::Input::none;
  process::set_variable(open.record.spec.environment,
                        "FASTGPU_RESTART_COUNT=" + std::to_string(restarts));
  start_again(context, target, started);
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
                        FollowOptions request) {
  for (;;) {
    std::optional<launcher::JobOutcome> ended;
    std::optional<std::chrono::milliseconds> wait;
    JobEndCause cause = JobEndCause::none;
    request.goes_on = [&](const launcher::JobOutcome& outcome) {
      ended = outcome;
      cause = cause_of(context, started.open, outcome);
      wait = launcher::wait_before_restart(started.open.record.spec, cause,
                                           started.open.record.restarts);
      return wait.has_value();
    };
    const int code = follow_job(context, *started.engine, started.open, request);
    if (!wait) return code;
    try {
      restart(context, started, find_target, *ended, cause, *wait);
    } catch (const Error& e) {
      const bool is_stopped = e.kind() == ErrorKind::interrupted;
      launcher::JobOutcome last = *ended;
      last.reason += is_stopped ? "" : "; it could not be started again: " + std::string(e.what());
      if (is_stopped)
        last = {.state = state::JobState::cancelled, .exit_code = 130, .reason = e.what()};
      launcher::mark_ended(context.store(), started.open.job, last);
      throw;
    }
    request.input = nullptr;
  }
}

}  // namespace fastgpu::cli
