#include "cli/commands/job/job_start.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/contains.hpp"
#include "base/fault_point.hpp"
#include "base/outcome.hpp"
#include "base/random.hpp"
#include "base/units.hpp"
#include "cli/commands/job/running_on.hpp"
#include "cli/commands/shared/not_copied.hpp"
#include "cli/workflows/absent_nodes.hpp"
#include "cli/workflows/cluster_hosts.hpp"
#include "cli/workflows/cluster_scheduler.hpp"
#include "cli/workflows/job_array.hpp"
#include "cli/workflows/job_queue.hpp"
#include "cli/workflows/remote_target.hpp"
#include "cli/workflows/silent_nodes.hpp"
#include "launcher/placement.hpp"
#include "launcher/queue.hpp"
#include "provision/lifecycle.hpp"
#include "provision/providers.hpp"
#include "remote/copy.hpp"
#include "remote/left_out.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

/// Returns the hosts that may get ranks of the job, as they are reached now. While the job waited
/// for its turn, a node may have got another machine, with another address and another host key.
std::vector<ssh::Host> hosts_of(const state::Store& store, const RemoteTarget& target,
                                const launcher::JobRecord& record) {
  const bool may_get_any =
      record.spec.engine == launcher::EngineKind::slurm && has_own_slurm(target.cluster);
  const ClusterHosts where(store, target.cluster);
  std::vector<ssh::Host> hosts;
  for (const state::Node& node : store.nodes(target.cluster.id)) {
    const bool has_ranks = contains(record.placement, node.name, &launcher::NodeRanks::node);
    const bool is_chosen = contains(target.nodes, node.name, &state::Node::name);
    if (has_ranks || (may_get_any && is_chosen)) hosts.push_back(where.of(node));
  }
  return hosts;
}

void upload(Context& context, const RemoteTarget& target, const launcher::JobRecord& record,
            const std::string& id) {
  if (record.spec.sync.empty()) return;
  const bool is_ours =  // True for a command that builds its own job.
      record.spec.sync.starts_with(context.state_directory().string() + "/");
  context.ui().progress(is_ours ? "copying the files of job " + id : "copying " + record.spec.sync);
  const std::vector<ssh::Host> hosts = hosts_of(context.store(), target, record);
  const std::filesystem::path source(record.spec.sync);
  remote::CopyOptions options;
  options.left_out = remote::left_out_of(source);
  const auto copied =
      remote::copy_to(context.ssh(), hosts, {source}, launcher::job_work_directory(id),
                      context.agent(), options, nullptr, context.cancel());
  for (const auto& outcome : copied)
    if (!outcome.ok())
      throw outcome.error().during("copying " + record.spec.sync + " to " + outcome.host.value);
  context.ui().end_progress();
  warn_of_not_copied(context, copied);
}

/// The ids that a job tries in turn. It skips one more number after the first that is taken, then
/// three, then seven: other machines may have started hundreds of jobs of this name.
constexpr int kMostIds = 10;

/// Asks the provider for the nodes with ranks. Throws conflict, with a remedy, if one is in a state
/// in which it `is_down`: it may have been stopped from outside. A provider that does not answer is
/// no reason.
void require_up(Context& context, const state::Cluster& cluster,
                const std::vector<launcher::NodeRanks>& placement,
                bool (*is_down)(state::NodeState)) {
  const auto seen =
      attempt([&] { return provision::look_before_change(context.tools(), cluster.name); });
  context.cancel().check();
  if (!seen.ok()) return;
  for (const state::Node& node : seen.value().nodes)
    if (is_down(node.state) && contains(placement, node.name, &launcher::NodeRanks::node))
      throw Error(ErrorKind::conflict,
                  absence_of(cluster, node, change_of(context.store(), cluster.name)));
}

bool does_not_run(state::NodeState node) {
  return node != state::NodeState::running;
}

/// A node that seems to be lost may be one that another machine runs.
bool is_stopped(state::NodeState node) {
  return node == state::NodeState::stopped;
}

/// Returns the failure of a start, or the better reason that a node does not run.
Error reason_of(Context& context, const OpenJob& open, const Error& e) {
  const bool may_be_off = e.kind() == ErrorKind::transient && !open.cluster.id.value.empty();
  if (!may_be_off) return e;
  const auto up =
      attempt([&] { require_up(context, open.cluster, open.record.placement, does_not_run); });
  return up.ok() ? e : up.error();
}

/// Records that the start of the job has failed, and throws the reason.
[[noreturn]] void end_start(Context& context, StartedJob& started, const Error& e,
                            bool is_prepared) {
  launcher::JobRecord& record = started.open.record;
  state::Job& job = started.open.job;
  const bool stopped = e.kind() == ErrorKind::interrupted;
  const Error reason = reason_of(context, started.open, e);
  record.never_began = !is_prepared && record.restarts == 0;
  if (record.never_began) job.record = record;
  launcher::mark_ended(context.store(), job,
                       {.state = stopped ? state::JobState::cancelled : state::JobState::failed,
                        .exit_code = exit_code(reason.kind()),
                        .reason = stopped ? "cancelled before it began" : reason.what()});
  if (stopped)
    throw Error(ErrorKind::interrupted, "job " + job.id + " was cancelled before it began");
  throw Error(reason);
}

/// Starts the job. If this fails, records the job as ended, unless it may run all the same, its id
/// is taken, or nodes do not answer: the caller decides what becomes of those.
void start(Context& context, const RemoteTarget& target, StartedJob& started) {
  launcher::JobRecord& record = started.open.record;
  state::Job& job = started.open.job;
  bool is_prepared = false;
  try {
    const std::string run = started.open.run();
    fault_point("job:turn");
    // The nodes may have got other machines while the job waited.
    started.engine = engine_for(context, started.open.cluster, record);
    launcher::StartedRun begun = started.engine->start(run, record, context.cancel(), [&] {
      is_prepared = true;
      upload(context, target, record, run);
      fault_point("job:prepared");
      note_order(context, job);
    });
    fault_point("job:started");
    if (!begun.warning.empty()) context.ui().warn(begun.warning);
    record.engine_job.id = std::move(begun.engine_id);
    if (!record.engine_job.id.empty()) job.record = record;
  } catch (const launcher::JobIdTaken&) {
    throw;
  } catch (const launcher::NodesSilent&) {
    throw;
  } catch (const launcher::JobMayRun& e) {
    job.reason = std::string("its start is not confirmed: ") + e.what();
    context.store().update_job(job);
    throw launcher::JobMayRun(with_job_that_may_run(e, job.id));
  } catch (const Error& e) {
    end_start(context, started, e, is_prepared);
  }
  launcher::mark_running(context.store(), job);
  record.started = job.record->started;  // A restart writes this record.
}

/// Puts a job that has not ended back into the queue, with the record that it has here.
void queue_again(Context& context, StartedJob& started, const std::string& when) {
  state::Job& job = started.open.job;
  context.store().atomically([&] {
    const auto stored = context.store().find_job(job.id);
    if (!stored || launcher::has_ended(*stored))
      throw Error(ErrorKind::interrupted, "job " + job.id + " was cancelled before its " + when);
    job = *stored;
    job.record = started.open.record;
    job.reason.clear();
    job.state = state::JobState::queued;
    context.store().update_job(job);
  });
}

/// Gives a job, whose nodes do not all answer, back to the queue without them. If its ranks do not
/// fit on the others of its `choice`, ends it, and throws why.
void leave_nodes_out(Context& context, StartedJob& started,
                     std::optional<launcher::PlaceChoice> choice,
                     const launcher::NodesSilent& why) {
  launcher::JobRecord without = started.open.record;
  if (choice)
    std::erase_if(choice->nodes, [&](const launcher::NodeSlots& node) {
      return contains(why.nodes(), node.name);
    });
  without.choice = std::move(choice);
  auto placement = launcher::place_anywhere(without);
  if (!placement)
    end_start(context, started,
              Error(why.kind(),
                    why.what() + words_to_leave_out(context, started.open.cluster, why.nodes())),
              false);
  without.placement = std::move(*placement);
  started.open.record = std::move(without);
  queue_again(context, started, "turn");
  context.ui().note(std::string(why.what()) + ": job " + started.open.job.id +
                    " goes to other nodes");
}

void wait_and_start(Context& context, const RemoteTarget& target, StartedJob& started) {
  state::Job& job = started.open.job;
  for (;;) {
    context.set_interrupt_hint("job " + job.id + " has not started");
    wait_for_turn(context, job, target.topologies);
    auto choice = std::exchange(started.open.record.choice, std::nullopt);
    started.open.record.placement = job.record->placement;
    const launcher::JobSpec& spec = started.open.record.spec;
    const bool has_lease = spec.engine == launcher::EngineKind::mpirun;
    context.set_interrupt_hint(
        has_lease ? words_for_parting("job", job.id, spec.grace)
                  : "job " + job.id + " goes on; stop it with: fastgpu cancel job " + job.id);
    context.set_stop_notice("stopping job " + job.id + " before it runs");
    try {
      return start(context, target, started);
    } catch (const launcher::NodesSilent& e) {
      leave_nodes_out(context, started, std::move(choice), e);
    }
  }
}

/// Records that a job ended before it began, and that nothing on the nodes is its own.
void give_up_id(Context& context, state::Job& job, const launcher::JobIdTaken& why) {
  launcher::JobRecord record = *job.record;
  record.id_taken = record.never_began = true;
  job.record = std::move(record);
  launcher::mark_ended(
      context.store(), job,
      {.state = state::JobState::failed, .exit_code = exit_code(why.kind()), .reason = why.what()});
}

/// Returns the record with the key by which a job in Kubernetes is found to be ours. The key must
/// be on record before the job is created there.
launcher::JobRecord with_key(launcher::JobRecord record) {
  if (record.spec.engine == launcher::EngineKind::kubernetes)
    record.engine_job.key = random_hex(16);
  return record;
}

/// Puts a new job, with the next number of its name, on record.
StartedJob record_new_job(Context& context, const RemoteTarget& target,
                          const launcher::JobRecord& record) {
  StartedJob started{.engine = engine_for(context, target.cluster, record),
                     .open = {.job = {}, .record = with_key(record), .cluster = target.cluster},
                     .owner = nullptr};
  state::Job& job = started.open.job;
  context.store().wait_longer(kWaitForOthers);
  context.store().atomically([&] {  // The job must not be visible before it has an owner.
    job = launcher::insert_job(context.store(), target.cluster.id, started.open.record);
    started.owner = std::make_unique<JobOwner>(context.state_directory(), job.id);
    job.state = state::JobState::queued;
    give_place(context, job);
    note_holders(context, job, target.topologies);
    context.store().update_job(job);
  });
  context.set_job(job.id);
  return started;
}

/// Returns true if a scheduler has refused the request itself, such as a partition that it does not
/// have. mpirun's jobs of this kind, such as one for an unknown node, are refused before they are
/// on record.
bool is_wrong_request(const launcher::JobRecord& record, const Error& e) {
  return (e.kind() == ErrorKind::usage || e.kind() == ErrorKind::not_found) &&
         record.spec.engine != launcher::EngineKind::mpirun;
}

/// Removes the files of a job that Slurm has refused. Returns false if some may be left: then the
/// number of the job cannot be used again.
bool leaves_no_files(Context& context, const StartedJob& started) {
  const launcher::JobRecord& record = started.open.record;
  if (record.spec.engine == launcher::EngineKind::kubernetes) return true;  // There are none.
  const auto removed =
      attempt([&] { return started.engine->remove(started.open.run(), record, context.cancel()); });
  return removed.ok() &&
         std::ranges::all_of(removed.value(), [](const auto& outcome) { return outcome.ok(); });
}

/// Starts a job whose id was shown already, so that it cannot get another one.
void start_with_its_id(Context& context, const RemoteTarget& target, StartedJob& started) {
  try {
    wait_and_start(context, target, started);
  } catch (const launcher::JobIdTaken& e) {
    give_up_id(context, started.open.job, e);
    throw;
  }
}

}  // namespace

std::string words_for_parting(const std::string& kind, const std::string& id,
                              std::chrono::milliseconds grace) {
  return kind + " " + id + " ends on its own: its ranks get SIGTERM within 30 s, and SIGKILL " +
         to_string(grace) +
         " after that (--grace); this begins it now and waits: fastgpu cancel job " + id;
}

launcher::JobRecord placed_on(Context& context, const RemoteTarget& target,
                              launcher::JobSpec spec) {
  auto placement = place_among(context, target.cluster, target.nodes, spec);
  if (provision::provider_info(target.cluster.provider).has_local_nodes)
    require_up(context, target.cluster, placement, is_stopped);  // Looking costs nothing.
  auto choice = choice_among(target.nodes, spec);
  launcher::JobRecord record{.spec = std::move(spec), .placement = std::move(placement)};
  record.choice = std::move(choice);
  return record;
}

NewJob new_job(Context& context, const RemoteTarget& target, const launcher::JobRecord& record) {
  state::Job job;
  job.cluster = target.cluster.id;
  job.state = state::JobState::queued;
  job.record = record;
  give_place(context, job);
  give_parts(context, job, target.topologies);
  const launcher::Turn turn = turn_now(context, job);
  return {.record = turn.waits_for.empty() ? *job.record : record, .turn = turn};
}

StartedJob start_job(Context& context, const RemoteTarget& target,
                     const launcher::JobRecord& record,
                     const std::function<void(const state::Job&)>& when_recorded) {
  if (!record.spec.sync.empty())
    remote::check_readable({record.spec.sync}, remote::left_out_of(record.spec.sync));
  if (when_recorded) {
    StartedJob started = record_new_job(context, target, record);
    when_recorded(started.open.job);
    start_with_its_id(context, target, started);
    return started;
  }
  for (int skipped = 0, tries = 1;; ++tries, skipped = 2 * skipped + 1) {
    StartedJob started = record_new_job(context, target, record);
    try {
      wait_and_start(context, target, started);
      return started;
    } catch (const launcher::JobIdTaken& e) {
      context.store().erase_job(started.open.job.id);
      context.set_job("");
      if (tries == kMostIds)
        throw Error(
            e.kind(),
            std::string(e.what()) + ", and so it went with " + std::to_string(kMostIds) +
                " numbers: does the cluster have one machine, or one home directory, under two "
                "names?");
      context.ui().note(std::string(e.what()) + ": trying another number");
      context.store().skip_job_numbers(record.spec.name, skipped);
    } catch (const Error& e) {
      if (!is_wrong_request(started.open.record, e) || !leaves_no_files(context, started)) throw;
      context.store().erase_job(started.open.job.id);
      context.set_job("");
      throw;
    }
  }
}

StartedJob start_element(Context& context, const RemoteTarget& target,
                         const launcher::JobRecord& record, const std::string& id) {
  context.set_job(id);
  if (!record.spec.sync.empty())
    remote::check_readable({record.spec.sync}, remote::left_out_of(record.spec.sync));
  StartedJob started{.engine = engine_for(context, target.cluster, record),
                     .open = {.job = {}, .record = with_key(record), .cluster = target.cluster},
                     .owner = nullptr};
  started.open.job = make_due(context, id, started.open.record);
  start_with_its_id(context, target, started);
  return started;
}

void start_again(Context& context, const RemoteTarget& target, StartedJob& started) {
  queue_again(context, started, "restart");
  wait_and_start(context, target, started);
}

}  // namespace fastgpu::cli
