#include "cli/workflows/job_access.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "base/contains.hpp"
#include "base/files.hpp"
#include "base/outcome.hpp"
#include "cli/workflows/absent_nodes.hpp"
#include "cli/workflows/cluster_hosts.hpp"
#include "cli/workflows/cluster_scheduler.hpp"
#include "cli/workflows/job_owner.hpp"
#include "cli/workflows/kubernetes_access.hpp"
#include "cli/workflows/lookup.hpp"
#include "cli/workflows/silent_nodes.hpp"
#include "config/settings.hpp"
#include "launcher/mpirun_engine.hpp"
#include "launcher/recovery.hpp"
#include "launcher/slurm_engine.hpp"
#include "provision/lifecycle.hpp"

namespace fastgpu::cli {
namespace {

/// Returns the first node of the job that is no longer in its cluster; absent if all are.
std::optional<NodeName> node_that_left(Services& services, const state::Job& job) {
  const auto nodes = services.store().nodes(job.cluster);
  for (const launcher::NodeRanks& ranks : job.record->placement)
    if (!contains(nodes, ranks.node, &state::Node::name)) return ranks.node;
  return std::nullopt;
}

/// Returns what the start of a job keeps on its nodes: by its own flag, or by the settings.
launcher::Retention retention_of(Services& services, const launcher::JobSpec& spec) {
  launcher::Retention retention = kept_folders(services);
  if (spec.keep_jobs) retention.count = *spec.keep_jobs;
  return retention;
}

/// Returns the node on which a job was or will be given to its scheduler. If it has left the
/// cluster, any other may have the job's files: the home directory is shared, or ranks ran there.
launcher::ClusterNode submitting_node(Services& services,
                                      std::span<const launcher::ClusterNode> nodes,
                                      const launcher::JobRecord& record) {
  const NodeName& name = record.placement.front().node;
  for (const launcher::ClusterNode& node : nodes)
    if (node.host.name == name) return node;
  const std::string left =
      "node " + name.value + ", which gave the job to Slurm, has left the cluster";
  if (nodes.empty())
    throw Error(ErrorKind::not_found, left + ", and no other node has the files of the job");
  services.messages().warn(left + ": files of the job that it alone had are gone");
  return nodes.front();
}

/// Returns the nodes that a job in Slurm may have. Those on which fastgpu has set Slurm up share no
/// home directory, so that all of them are reached.
launcher::SlurmSite slurm_site(Services& services, const state::Cluster& cluster,
                               std::span<const launcher::ClusterNode> nodes,
                               const launcher::JobRecord& record) {
  launcher::SlurmSite site{.head = submitting_node(services, nodes, record)};
  if (!has_own_slurm(cluster)) return site;
  for (const state::Node& known : services.store().nodes(cluster.id))
    for (const launcher::ClusterNode& node : nodes)
      if (known.state == state::NodeState::running && node.host.name == known.name &&
          node.host.name != site.head.host.name)
        site.others.push_back(node);
  return site;
}

launcher::JobOutcome lost(const std::string& why) {
  return {.state = state::JobState::lost, .exit_code = 1, .reason = why};
}

/// Returns the job as it is on record once no process owns it; absent if one does, or if there is
/// no such job. What was read before may be of a job that has begun or ended since, as its owner
/// did.
std::optional<state::Job> job_without_owner(Services& services, const std::string& id) {
  const JobOwner owner(services.state_directory(), id);
  return owner.held() ? services.store().find_job(id) : std::nullopt;
}

void lose(Services& services, state::Job& job, const std::string& why) {
  launcher::mark_ended(services.store(), job, lost(why));
}

constexpr const char* kStarterEnded = "the fastgpu that started it has ended";

/// Returns true for a job that starts, and of which no order has been sent to its nodes.
bool is_being_prepared(const state::Job& job) try {
  return job.state == state::JobState::starting && job.record->is_preparing;
} catch (const Error&) {  // Another version of fastgpu wrote the record.
  return false;
}

/// Returns the job; one that was queued, and that no process owns any more, as it is on record now:
/// a job that still waits there is lost.
state::Job without_forgotten_wait(Services& services, const state::Job& job) {
  if (job.state != state::JobState::queued) return job;
  auto left = job_without_owner(services, job.id);
  if (!left) return job;
  if (left->state == state::JobState::queued)
    lose(services, *left, "the fastgpu that queued it has ended");
  return *left;
}

/// Says if the nodes of a cluster that is being deleted count as gone.
enum class HalfGone : std::uint8_t { counts, does_not_count };

/// Returns the end of a job whose cluster is deleted or stopped, or has lost a node of the job to
/// another command; absent if all of it is there, and for a job in Kubernetes.
std::optional<launcher::JobOutcome> outcome_without_nodes(Services& services, const state::Job& job,
                                                          HalfGone half_gone) {
  if (is_in_kubernetes(job)) return std::nullopt;
  const auto cluster = services.store().find_cluster(job.cluster);
  const bool is_leaving = cluster && cluster->state == state::ClusterState::deleting;
  if (!cluster || (is_leaving && half_gone == HalfGone::counts))
    return lost("its cluster was deleted");
  if (cluster->state == state::ClusterState::stopped) return lost("its cluster was stopped");
  if (cluster->state != state::ClusterState::running &&
      cluster->state != state::ClusterState::degraded)
    return std::nullopt;
  const auto left = node_that_left(services, job);
  if (!left) return std::nullopt;
  // mpirun ends the rest: it has lost that node, or was on it.
  launcher::JobOutcome outcome = lost("node " + left->value + " left the cluster");
  outcome.cause = launcher::JobEndCause::node_loss;
  outcome.lost.push_back(*left);
  return outcome;
}

/// Ends a job whose fastgpu ended before it had started it, unless its engine cannot stop it now.
/// The record may have the reason.
void end_cut_short(Services& services, launcher::JobEngine& engine, const std::string& run,
                   state::Job& job) {
  // The command that starts the job may still be on its way. The node ignores it after a stop.
  if (!engine.stop(run, *job.record).front().ok()) return;
  lose(services, job, job.reason.empty() ? kStarterEnded : "nothing of it runs; " + job.reason);
}

/// Returns true if the process that was to start the job has ended before it had: neither the
/// record nor the nodes know of a start.
bool was_start_cut_short(Services& services, launcher::JobEngine& engine, const std::string& run,
                         const state::Job& job, launcher::Asking how) {
  const auto left = job_without_owner(services, job.id);
  if (!left || left->state != state::JobState::starting) return false;
  return engine.glance(run, *left->record, how).is_unknown;
}

/// Returns true while a process starts the job. Until it has found that the job's id is free on the
/// nodes, what they have under this id may be the job of another machine.
bool is_being_started(Services& services, const state::Job& job) {
  return job.state == state::JobState::starting && job.record->engine_job.id.empty() &&
         !JobOwner(services.state_directory(), job.id).held();
}

/// Asks the engine about the job, and records its answer. Returns why its nodes did not answer;
/// empty if they did.
std::string ask_engine(Services& services, const state::Cluster& cluster, state::Job& job,
                       launcher::Asking how) {
  const launcher::JobRecord record = *job.record;
  const std::string run = launcher::run_name(job.id, record.restarts);
  const auto engine = engine_for(services, cluster, record);
  auto glance = engine->glance(run, record, how);
  // The fastgpu that owns the job may have recorded the end meanwhile.
  if (auto recorded = services.store().find_job(job.id);
      recorded && launcher::has_ended(*recorded)) {
    job = std::move(*recorded);
    return {};
  }
  if (glance.outcome) {
    if (is_being_started(services, job)) return {};
    note_undone(services, job, *glance.outcome);
    launcher::mark_ended(services.store(), job, *glance.outcome);
    note_unanswered(services, job.cluster, *glance.outcome);
  } else if (glance.is_unknown && job.state == state::JobState::starting &&
             was_start_cut_short(services, *engine, run, job, how)) {
    end_cut_short(services, *engine, run, job);
  } else if (!record.engine_job.id.empty() || !glance.engine_id.empty()) {
    launcher::note_glance(services.store(), job, glance);
  }
  return glance.silence;
}

}  // namespace

launcher::Retention kept_folders(Services& services) {
  const auto age = services.settings().duration("keep-jobs-for");
  return {.count = services.settings().integer("keep-jobs", 0, config::kMostKeptJobs),
          .age = std::chrono::duration_cast<std::chrono::seconds>(age)};
}

provision::cloud::Owner owner_of_jobs(Services& services) {
  return provision::cloud::Owner(services.state_directory() / "owners" / "jobs");
}

bool is_in_kubernetes(const state::Job& job) try {
  return job.record->spec.engine == launcher::EngineKind::kubernetes;
} catch (const Error&) {  // Another version of fastgpu wrote the record.
  return false;
}

bool OpenJob::is_without_cluster() const {
  return cluster.id.value.empty() && record.spec.engine != launcher::EngineKind::kubernetes;
}

OpenJob open_job(Services& services, std::string_view name) {
  OpenJob out;
  out.job = find_job(services, name);
  out.record = *out.job.record;
  if (is_in_kubernetes(out.job)) return out;
  const auto cluster = services.store().find_cluster(out.job.cluster);
  if (!cluster)
    throw Error(ErrorKind::conflict,
                "the cluster of job " + out.job.id +
                    " is deleted, and its logs with it; hosts of a static cluster keep them in ~/" +
                    launcher::job_directory(out.run()));
  out.cluster = *cluster;
  return out;
}

std::unique_ptr<launcher::JobEngine> engine_for(Services& services, const state::Cluster& cluster,
                                                const launcher::JobRecord& record,
                                                std::chrono::milliseconds lost_after,
                                                ssh::Client* client) {
  if (record.spec.engine == launcher::EngineKind::kubernetes)
    return kubernetes_engine(services, record.spec.kubernetes);
  const ClusterHosts where(services.store(), cluster);
  std::vector<launcher::ClusterNode> nodes;
  for (const state::Node& node : services.store().nodes(cluster.id))
    nodes.push_back({.host = where.of(node), .peer = where.peer(node)});
  // The nodes accept the cluster's key from each other, too.
  const auto key = state::identity_file(services.state_directory(), cluster.id);
  const auto text = read_file(key);
  if (!text)
    throw Error(ErrorKind::local,
                "the key of cluster " + cluster.name.value + " is missing: " + key.string());
  const launcher::RunnerOptions options{
      .agent = services.agent(),
      .lost_after = lost_after,
      .retention = retention_of(services, record.spec),
      .owner = [&services] { return owner_of_jobs(services).mark(); },
      .network_check = services.settings().boolean("network-check") ? launcher::NetworkCheck::on
                                                                    : launcher::NetworkCheck::off};
  ssh::Client& ssh = client == nullptr ? services.ssh() : *client;
  if (record.spec.engine == launcher::EngineKind::slurm)
    return launcher::make_slurm_engine(ssh, services.another_ssh(),
                                       slurm_site(services, cluster, nodes, record), options);
  return launcher::make_mpirun_engine(ssh, std::move(nodes),
                                      launcher::ClusterAccess{.cluster_id = cluster.id.value,
                                                              .private_key = Secret(*text),
                                                              .cluster_name = cluster.name.value},
                                      options);
}

void require_begun(const OpenJob& open) {
  const launcher::JobRecord& record = *open.job.record;
  if (!launcher::has_ended(open.job) || !record.never_began) return;
  const std::string why = open.job.reason.empty() ? "" : ": " + open.job.reason;
  throw Error(ErrorKind::conflict, "job " + open.job.id + " never started" + why);
}

void require_running(Services& services, const OpenJob& open) {
  const state::Cluster& cluster = open.cluster;
  const auto change = [&] { return change_of(services.store(), cluster.name); };
  if (cluster.state == state::ClusterState::deleting)
    throw Error(ErrorKind::conflict, absence_of(cluster, change()));
  const auto nodes = services.store().nodes(cluster.id);
  for (const launcher::NodeRanks& ranks : open.record.placement) {
    const auto node = std::ranges::find(nodes, ranks.node, &state::Node::name);
    if (node != nodes.end() && node->state == state::NodeState::stopped)
      throw Error(ErrorKind::conflict, absence_of(cluster, *node, change()));
  }
}

std::optional<Error> absence_of_nodes(Services& services, const OpenJob& open) {
  if (open.cluster.id.value.empty()) return std::nullopt;
  const auto seen = attempt(
      [&] { return provision::refresh_cluster(services.tools(), open.cluster.name).cluster; });
  services.cancel().check();
  if (!seen.ok()) return std::nullopt;
  OpenJob now = open;
  now.cluster = seen.value();
  const Outcome<void> runs = attempt([&] { require_running(services, now); });
  return runs.ok() ? std::nullopt : std::optional(runs.error());
}

bool is_off(Services& services, const OpenJob& open, const NodeName& name) {
  absence_of_nodes(services, open);  // Records the states of the nodes.
  for (const state::Node& node : services.store().nodes(open.cluster.id))
    if (node.name == name)
      return node.state == state::NodeState::stopped || node.state == state::NodeState::lost;
  return false;
}

bool is_restarted_by_its_owner(Services& services, const state::Job& job) {
  if (launcher::has_ended(job) || job.record->spec.retries == 0) return false;
  return !JobOwner(services.state_directory(), job.id).held();
}

bool has_another_machine(const state::Node& node, const launcher::NodeRanks& ranks) {
  return !ranks.instance_id.empty() && node.instance_id != ranks.instance_id;
}

std::vector<NodeName> nodes_with_another_machine(Services& services, const OpenJob& open) {
  std::vector<NodeName> found;
  const auto nodes = services.store().nodes(open.cluster.id);
  for (const launcher::NodeRanks& ranks : open.record.placement) {
    const auto node = std::ranges::find(nodes, ranks.node, &state::Node::name);
    if (node != nodes.end() && has_another_machine(*node, ranks)) found.push_back(ranks.node);
  }
  return found;
}

std::string text_of_another_machine(const NodeName& node) {
  return node.value +
         " is another machine than the one that the job ran on, and its output went with that";
}

std::optional<launcher::JobOutcome> outcome_of_lost_nodes(Services& services,
                                                          const state::Job& job) {
  // A cloud may have stopped the machines by itself: a job with --retry gets others.
  const auto cluster = services.store().find_cluster(job.cluster);
  const bool is_stopped = cluster && cluster->state == state::ClusterState::stopped;
  if (is_stopped && job.record->spec.retries > 0) return std::nullopt;
  return outcome_without_nodes(services, job, HalfGone::counts);
}

void note_undone(Services& services, const state::Job& job, launcher::JobOutcome& outcome) {
  const launcher::JobRecord& record = *job.record;
  if (record.spec.presence != launcher::Presence::detached) return;
  const std::string undone = launcher::undone_without_owner(record.spec, outcome, record.restarts);
  if (undone.empty() || !JobOwner(services.state_directory(), job.id).held()) return;
  // A fastgpu that has done all of it records the end of the job before its own.
  const auto recorded = services.store().find_job(job.id);
  if (!recorded || launcher::has_ended(*recorded)) return;
  outcome.reason += (outcome.reason.empty() ? "" : "; ") + undone;
  if (record.outputs == state::Outputs::awaited && outcome.exit_code == 0) outcome.exit_code = 1;
}

state::Job without_cut_preparation(Services& services, const state::Job& job) {
  if (!is_being_prepared(job) || !job_without_owner(services, job.id)) return job;
  state::Job now = job;
  // The process that starts a job of an array may outlive the owner, its array, for an instant:
  // either it records its order first, or it finds the end here.
  services.store().atomically([&] {
    auto stored = services.store().find_job(job.id);
    if (!stored) return;
    now = std::move(*stored);
    if (is_being_prepared(now)) lose(services, now, kStarterEnded);
  });
  return now;
}

std::optional<state::Job> job_by_records(Services& services, const state::Job& seen) {
  const state::Job job = without_cut_preparation(services, without_forgotten_wait(services, seen));
  if (launcher::has_ended(job) || job.state == state::JobState::queued) return job;
  state::Job now = job;
  if (is_in_kubernetes(job)) return std::nullopt;
  // The process that starts a job finds out itself what its nodes are: it may try again.
  const bool has_begun = !is_being_started(services, job);
  auto outcome = has_begun ? outcome_without_nodes(services, job, HalfGone::does_not_count)
                           : std::optional<launcher::JobOutcome>();
  if (outcome) {
    note_undone(services, job, *outcome);
    launcher::mark_ended(services.store(), now, *outcome);
    return now;
  }
  const auto cluster = services.store().find_cluster(job.cluster);
  const bool runs = cluster && (cluster->state == state::ClusterState::running ||
                                cluster->state == state::ClusterState::degraded);
  if (!runs || is_restarted_by_its_owner(services, job)) return now;
  return std::nullopt;
}

SeenJob look_at_job(Services& services, const state::Job& seen, launcher::Asking how) {
  const state::Job job = without_forgotten_wait(services, seen);
  if (auto known = job_by_records(services, job)) return {std::move(*known)};
  state::Job now = job;
  const auto cluster = services.store().find_cluster(job.cluster);
  std::string silence = ask_engine(services, cluster.value_or(state::Cluster{}), now, how);
  return {std::move(now), std::move(silence)};
}

state::Job refresh_job(Services& services, const state::Job& job) {
  return look_at_job(services, job).job;
}

std::vector<state::Job> abandoned_jobs(Services& services) {
  std::vector<state::Job> out;
  for (const state::Job& job : services.store().jobs()) {
    if (launcher::has_ended(job) || job.state == state::JobState::queued) continue;
    if (job.record->spec.presence == launcher::Presence::detached) continue;
    if (JobOwner(services.state_directory(), job.id).held()) out.push_back(job);
  }
  return out;
}

void end_abandoned(Services& services, const state::Job& abandoned) {
  state::Job job = abandoned;
  try {
    job = refresh_job(services, abandoned);
  } catch (const Error& e) {
    if (is_in_kubernetes(abandoned))
      throw with_way_out(abandoned.id, e,
                         server_after(services, abandoned.record->spec.kubernetes, e));
    throw;
  }
  if (launcher::has_ended(job)) return;
  const OpenJob open = open_job(services, job.id);
  if (open.cluster.state != state::ClusterState::stopped)
    for (const auto& outcome :
         engine_for(services, open.cluster, open.record)->stop(open.run(), open.record))
      if (!outcome.ok() && !is_off(services, open, outcome.host)) throw outcome.error();
  lose(services, job, "the fastgpu that ran it was ended");
}

}  // namespace fastgpu::cli
