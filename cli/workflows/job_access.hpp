// Recorded jobs, and the access to them.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "cli/workflows/services.hpp"
#include "launcher/contact.hpp"
#include "launcher/job_engine.hpp"
#include "launcher/job_store.hpp"
#include "launcher/node_commands.hpp"
#include "provision/cloud/owner.hpp"

namespace fastgpu::cli {

/// A job and the data for reaching it.
struct OpenJob {
  state::Job job;
  launcher::JobRecord record;
  state::Cluster cluster;  ///< Empty for a job in Kubernetes, and once it is deleted.

  /// Returns the name of its present run on the nodes.
  std::string run() const { return launcher::run_name(job.id, record.restarts); }

  /// Returns true if the job's cluster is deleted.
  bool is_without_cluster() const;
};

/// Returns the limits of the settings for folders of ended jobs on nodes.
launcher::Retention kept_folders(Services& services);

/// Returns the mark of this state directory in the folders of its jobs on nodes.
provision::cloud::Owner owner_of_jobs(Services& services);

/// Returns true for a job that runs in Kubernetes, and not on a cluster of fastgpu.
bool is_in_kubernetes(const state::Job& job);

/// Returns the job called `name`. Throws ErrorKind::not_found for an unknown job, and conflict if
/// its cluster has been deleted.
OpenJob open_job(Services& services, std::string_view name);

/// Throws conflict, with the reason, if the job has ended without anything on its nodes.
void require_begun(const OpenJob& open);

/// Throws conflict, with a remedy, if a node of the job is stopped or its cluster is being deleted.
void require_running(Services& services, const OpenJob& open);

/// Returns the engine of a job, which borrows from `services`. `lost_after` is the time after which
/// a node without contact is lost. `client` is for use in another thread; null for that of
/// `services`. Throws ErrorKind::local if the cluster's key is missing.
std::unique_ptr<launcher::JobEngine> engine_for(
    Services& services, const state::Cluster& cluster, const launcher::JobRecord& record,
    std::chrono::milliseconds lost_after = launcher::kLostAfter, ssh::Client* client = nullptr);

/// Asks the place of the cluster for its nodes, and returns the error of require_running(): why a
/// node of the job does not answer, with a remedy. Absent if all run, or the place does not answer.
std::optional<Error> absence_of_nodes(Services& services, const OpenJob& open);

/// Returns true if the machine of the node does not run, as its place says: nothing of the job runs
/// there, either.
bool is_off(Services& services, const OpenJob& open, const NodeName& node);

/// Returns true if the fastgpu that runs the job is alive and starts it again where needed: no
/// other one decides that the job has ended.
bool is_restarted_by_its_owner(Services& services, const state::Job& job);

/// Returns the end of a job whose follower has lost its nodes, if a command of a user took them:
/// its cluster is deleted or is being deleted, or a node has left it, or, for a job without
/// restarts, it is stopped. Absent if all are there.
std::optional<launcher::JobOutcome> outcome_of_lost_nodes(Services& services,
                                                          const state::Job& job);

/// Adds to the reason of an end what is left undone because the process that ran a detached job has
/// gone. Every end that another process finds goes through this.
void note_undone(Services& services, const state::Job& job, launcher::JobOutcome& outcome);

/// Returns true if the node of these ranks has another machine than the one on which they were
/// started: the files of the job went with that. False if that machine is unknown.
bool has_another_machine(const state::Node& node, const launcher::NodeRanks& ranks);

/// Returns the nodes of the job that have another machine now.
std::vector<NodeName> nodes_with_another_machine(Services& services, const OpenJob& open);

/// Returns "demo-1 is another machine than the one that the job ran on, and its output went with
/// that".
std::string text_of_another_machine(const NodeName& node);

/// A job in its present state, as far as its nodes have answered.
struct SeenJob {
  state::Job job;
  std::string silence{};  ///< Why its nodes did not answer; empty if they did, or were not asked.
};

/// Returns the job. One whose fastgpu has ended while it prepared the nodes is lost, which is
/// recorded: no order to start it was sent, and none will be, so that its slots are free whether
/// its nodes answer or not.
state::Job without_cut_preparation(Services& services, const state::Job& job);

/// Returns the job as the records alone have it, if they decide about it: it has ended, it waits,
/// or its nodes do not run. Absent if its engine has to be asked. Records an end that it finds.
std::optional<state::Job> job_by_records(Services& services, const state::Job& job);

/// Asks the engine about an unfinished job. If the job has ended, or its cluster is stopped or
/// deleted, records this.
SeenJob look_at_job(Services& services, const state::Job& job,
                    launcher::Asking how = launcher::Asking::briefly);

/// Returns the job of look_at_job(), after a few seconds at most.
state::Job refresh_job(Services& services, const state::Job& job);

/// Returns the unfinished attached jobs whose fastgpu process has ended.
std::vector<state::Job> abandoned_jobs(Services& services);

/// Stops an abandoned job on its nodes and records its end. Throws if a node cannot be asked.
void end_abandoned(Services& services, const state::Job& abandoned);

}  // namespace fastgpu::cli
