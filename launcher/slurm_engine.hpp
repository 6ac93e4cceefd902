// The engine Slurm: jobs are submitted on a cluster's first node, and run on nodes that Slurm
// chooses.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "launcher/engines/slurm.hpp"
#include "launcher/job_engine.hpp"
#include "launcher/job_runner.hpp"

namespace fastgpu::launcher {

struct SlurmTimes {
  std::chrono::milliseconds between_questions{2'000};
  /// Following a job ends with an error once the controller has not answered for this long.
  std::chrono::milliseconds controller_timeout{60'000};
};

/// Submits jobs on `head`. The nodes of Slurm share its home directory: the ranks find their plan
/// there, and write their logs there.
class SlurmEngine final : public JobEngine {
 public:
  /// Borrows `client`. `asking` is for questions to Slurm while `client` follows logs.
  SlurmEngine(ssh::Client& client, std::unique_ptr<ssh::Client> asking, ClusterNode head,
              RunnerOptions options, SlurmTimes times = {});

  /// Writes the job's files and its batch script, and submits it. The engine's id is Slurm's number
  /// of the job.
  StartedRun start(const std::string& id, const JobRecord& job, const Cancel& cancel,
                   const std::function<void()>& when_prepared) override;
  /// Asks Slurm by `sbatch --test-only`.
  JobTrial try_start(const JobRecord& job, const Cancel& cancel) override;
  JobOutcome follow(const std::string& id, const JobRecord& job, OnCancel on_cancel,
                    const FollowingOptions& options, JobObserver& observer,
                    const Cancel& cancel) override;
  JobGlance glance(const std::string& id, const JobRecord& job) override;
  std::vector<HostResult<ssh::Exit>> stop(const std::string& id, const JobRecord& job) override;
  void logs(const std::string& id, const JobRecord& job, const LogRequest& request,
            JobObserver& observer, const Cancel& cancel) override;
  std::vector<HostResult<ssh::Exit>> remove(const std::string& id, const JobRecord& job,
                                            const Cancel& cancel) override;

 private:
  class Watch;

  std::vector<agent::SmallFile> files_of(const std::string& id, const JobRecord& job) const;
  std::string script_of(const std::string& id, const JobSpec& spec) const;
  NodeCommands commands(const std::string& id) const { return {options_.agent.hash, id}; }
  JobReport report_of(const std::string& id, const JobRecord& job);

  ssh::Client& client_;
  std::unique_ptr<ssh::Client> asking_;
  ClusterNode head_;
  RunnerOptions options_;
  SlurmTimes times_;
  JobRunner on_head_;  ///< Reads logs and removes files, as for mpirun's jobs.
};

}  // namespace fastgpu::launcher
