// Starts, follows and stops jobs on a cluster, and reads what they left.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launcher/following.hpp"
#include "launcher/job_engine.hpp"
#include "launcher/job_files.hpp"
#include "launcher/job_outcome.hpp"
#include "ssh/client.hpp"

namespace fastgpu::launcher {

/// A node of the cluster, with the data that jobs need.
struct ClusterNode {
  ssh::Host host;  ///< The address, user and keys for this machine.
  Peer peer;       ///< The address, user and keys for the other nodes.
};

/// Whether the start of a job checks that its nodes reach each other.
enum class NetworkCheck : std::uint8_t { on, off };

struct RunnerOptions {
  remote::AgentProgram agent;  ///< Installed on nodes that lack it.
  std::chrono::milliseconds lease{30'000};
  std::chrono::milliseconds lost_after{15'000};
  Retention retention{};
  NetworkCheck network_check = NetworkCheck::on;
};

/// The engine mpirun: ranks on the nodes of the cluster, under a supervisor on the first of them.
class JobRunner final : public JobEngine {
 public:
  /// Takes all `nodes` of the cluster; a job uses those of its placement.
  JobRunner(ssh::Client& client, std::vector<ClusterNode> nodes, ClusterAccess access,
            RunnerOptions options);

  /// Writes the job's files on its nodes and starts it. After the return the job runs under its
  /// supervisor. The directory of the job exists on every node before `when_prepared` is called.
  /// The warning reports why the nodes' fastest network is not used.
  StartedRun start(const std::string& id, const JobRecord& job, const Cancel& cancel,
                   const std::function<void()>& when_prepared = {}) override;

  /// Checks that the nodes answer, and that mpirun, the working directory and a program that is
  /// named by a path exist.
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
  /// Reaches each node within `to_reach`, or reports it as unreachable.
  std::vector<HostResult<ssh::Exit>> stop(const std::string& id, const JobRecord& job,
                                          std::chrono::milliseconds to_reach);
  void show_stacks(const std::string& id, const JobRecord& job, const std::set<int>& ranks,
                   JobObserver& observer, const Cancel& cancel);
  const ClusterNode* find_node(const NodeName& name) const;
  const ClusterNode& node(const NodeName& name) const;
  std::vector<ssh::Host> hosts(const JobRecord& job) const;
  NodeCommands commands(const std::string& id) const;
  JobFilesRequest request_for(const std::string& id, const JobRecord& job) const;
  std::vector<agent::JobNodeFacts> put_ranks(const JobFilesRequest& request, const Cancel& cancel);
  void put_and_start(const JobFilesRequest& request, std::span<const agent::JobNodeFacts> facts,
                     const Cancel& cancel);
  /// Returns the words of the request to the node at `place`; empty if it gets none.
  std::vector<std::string> reach_words_for(const JobFilesRequest& request,
                                           std::span<const agent::JobNodeFacts> facts,
                                           std::size_t place) const;

  ssh::Client* client_;
  std::vector<ClusterNode> nodes_;
  ClusterAccess access_;
  RunnerOptions options_;
};

}  // namespace fastgpu::launcher
