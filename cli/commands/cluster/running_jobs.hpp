// The jobs that a command ends: for its question, and their end on hosts that are kept.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/program/context.hpp"

namespace fastgpu::cli {

enum class JobSource : std::uint8_t {
  nodes,    ///< Asks the nodes about unfinished jobs, and records their answers.
  record,   ///< Reads only the record, and changes nothing.
  settled,  ///< Reads only the record, and records the ends that follow from it.
};

/// The ids of unfinished jobs, the oldest first.
struct UnfinishedJobs {
  std::vector<std::string> running;  ///< The text of one whose outputs are being copied says so.
  std::vector<std::string> queued;

  bool empty() const noexcept { return running.empty() && queued.empty(); }
};

/// Returns the cluster's unfinished jobs on `nodes`, and those whose outputs are being copied here.
UnfinishedJobs jobs_on(Context& context, const state::Cluster& cluster,
                       const std::vector<state::Node>& nodes, JobSource source);

/// Returns the cluster's unfinished jobs on `nodes` that use an environment for which `is_meant`
/// returns true: they run in it, or wait to. Asks the nodes as JobSource::nodes does. Assumes so
/// for a job whose record is unreadable.
UnfinishedJobs jobs_using(Context& context, const state::Cluster& cluster,
                          const std::vector<state::Node>& nodes,
                          const std::function<bool(const state::UsedEnvironment&)>& is_meant);

/// Throws conflict if there are jobs: "1 job uses environment 'train': a-1; 1 job waits for
/// environment 'train': b-1; ...", with the commands that wait for them or end them.
void refuse_while_used(const UnfinishedJobs& jobs, const std::string& what);

/// Returns "2 jobs run on it: train-1, train-2; 1 job waits for it: train-3"; "" without jobs.
/// Names only the first few of many jobs.
std::string jobs_text(const UnfinishedJobs& jobs);

/// Stops the unfinished jobs that have ranks on the nodes `leaving`, or were given to Slurm by one
/// of them, on all of their nodes, and records that they are cancelled because of `why`. Jobs that
/// wait are cancelled first, so that none of them starts meanwhile. Reports each node that does not
/// confirm it, and what stays there; such a job keeps its state. Does nothing for other providers
/// than that of the user's own hosts, because their machines go. Throws interrupted after a cancel.
void stop_leaving_jobs(Context& context, const state::Cluster& cluster,
                       const std::vector<state::Node>& leaving, const std::string& why);

}  // namespace fastgpu::cli
