// The jobs that a command ends: for its question, and their end on hosts that are kept.
#pragma once

#include <string>
#include <vector>

#include "cli/program/context.hpp"

namespace fastgpu::cli {

enum class JobSource : std::uint8_t {
  nodes,   ///< Asks the nodes about unfinished jobs, and records their answers.
  record,  ///< Reads only the record, and changes nothing.
};

/// Returns the ids of the cluster's unfinished jobs on `nodes`, the oldest first.
std::vector<std::string> running_jobs(Context& context, const state::Cluster& cluster,
                                      const std::vector<state::Node>& nodes, JobSource source);

/// Returns "2 jobs run on it: train-1, train-2"; "" without jobs. Names only the first few of many
/// jobs.
std::string jobs_text(const std::vector<std::string>& jobs);

/// Stops the unfinished jobs that have ranks on the nodes `leaving`, or were given to Slurm by one
/// of them, on all of their nodes, and records that they are cancelled because of `why`. Jobs that
/// wait are cancelled first, so that none of them starts meanwhile. Reports each node that does not
/// confirm it, and what stays there; such a job keeps its state. Does nothing for other providers
/// than that of the user's own hosts, because their machines go. Throws interrupted after a cancel.
void stop_leaving_jobs(Context& context, const state::Cluster& cluster,
                       const std::vector<state::Node>& leaving, const std::string& why);

}  // namespace fastgpu::cli
