// Puts the files of a job where its ranks find them, and submits the job to Slurm.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "agent/protocol/files.hpp"
#include "base/cancel.hpp"
#include "launcher/cluster_nodes.hpp"
#include "launcher/fan_out.hpp"
#include "launcher/job_engine.hpp"
#include "launcher/runner_options.hpp"
#include "ssh/client.hpp"
#include "ssh/host.hpp"

namespace fastgpu::launcher {

/// One job on its way to Slurm. The head is the first of the nodes; it is the only one if the nodes
/// of Slurm share its home directory.
class SlurmSubmission {
 public:
  /// Borrows all but the id and `job`. Throws ErrorKind::invalid_argument for a job that cannot
  /// run.
  SlurmSubmission(ssh::Client& client, std::span<const ClusterNode> nodes,
                  const RunnerOptions& options, std::string id, const JobRecord& job);

  /// Writes the job's files and its batch script on the head, and submits it. Files for nodes that
  /// share no home directory travel with the script. The engine's id is Slurm's number of the job.
  StartedRun run(const Cancel& cancel, const std::function<void()>& when_prepared);

  /// Returns true if run() has failed after Slurm may have taken the job.
  bool may_run() const { return may_run_; }

 private:
  void put_files(std::span<const ClusterNode> nodes, const std::vector<agent::SmallFile>& files,
                 const Cancel& cancel);
  void require_own_homes(const Cancel& cancel);
  NodeAnswer submit(const Cancel& cancel);

  ssh::Client& client_;
  std::span<const ClusterNode> nodes_;
  const RunnerOptions& options_;
  std::string id_;
  /// Empty if the other nodes need no files before the ranks start.
  std::vector<agent::SmallFile> for_other_nodes_{};
  std::vector<agent::SmallFile> for_head_{};
  bool may_run_ = false;
};

/// Asks Slurm by `sbatch --test-only`. Returns the batch script, and what Slurm says of it.
JobTrial try_slurm_job(ssh::Client& client, std::span<const ClusterNode> nodes,
                       const RunnerOptions& options, const JobRecord& job, const Cancel& cancel);

/// Lets the next job begin with a look for the agent on all nodes, because some may lack it.
void look_for_slurm_agents_again(ssh::Client& client, const ssh::Host& head,
                                 const RunnerOptions& options, const std::string& id);

}  // namespace fastgpu::launcher
