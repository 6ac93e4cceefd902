// Starts, follows and stops jobs on a cluster, and reads what they left.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launcher/following.hpp"
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

/// The effect of a cancel on a job that is being followed.
enum class OnCancel : std::uint8_t { stop_job, leave_job };

enum class LogMode : std::uint8_t { what_there_is, follow };

struct LogRequest {
  std::optional<int> rank{};                         ///< Absent: all, mpirun's own output included.
  std::optional<std::uint64_t> tail{};               ///< Lines of each log.
  std::optional<std::chrono::milliseconds> since{};  ///< Lines of this time before now.
  bool times = false;  ///< Reports when output was written, and each node's output in that order.
  LogMode mode = LogMode::what_there_is;
};

/// Runs one job at a time, as the client that it uses does. All calls block.
class JobRunner {
 public:
  /// Takes all `nodes` of the cluster; a job uses those of its placement.
  JobRunner(ssh::Client& client, std::vector<ClusterNode> nodes, ClusterAccess access,
            RunnerOptions options);

  /// Writes the job's files on its nodes and starts it. After the return the job runs under its
  /// supervisor. After an exception or a cancel nothing of it runs. A second start of the same id
  /// changes nothing. Calls `when_prepared` once the job's own directory exists on every node, and
  /// before anything runs there, so that the caller can fill job_work_directory. Returns why the
  /// nodes' fastest network is not used; empty if there is nothing to report.
  std::string start(const std::string& id, const JobRecord& job, const Cancel& cancel,
                    const std::function<void()>& when_prepared = {});

  /// Checks what `start` needs, and starts nothing: that the nodes answer, and that mpirun, the
  /// working directory and a program that is named by a path exist. Throws as `start` does. Returns
  /// the job's outcome if its ranks could not begin; absent if they could.
  std::optional<JobOutcome> try_start(const JobRecord& job, const Cancel& cancel);

  /// Follows a job, from wherever it is, to its end; a cancel stops it everywhere, within
  /// the grace of its programs, or leaves it. With leave_job, a cancel throws
  /// ErrorKind::interrupted.
  JobOutcome follow(const std::string& id, const JobRecord& job, OnCancel on_cancel,
                    const FollowingOptions& options, JobObserver& observer, const Cancel& cancel);

  /// Stops all of it on all nodes. Names the nodes that did not confirm it. Stopping a job that
  /// has ended is a success.
  std::vector<HostResult<ssh::Exit>> stop(const std::string& id, const JobRecord& job);

  /// Passes on the bytes that the programs wrote. Throws for a node that does not answer, after the
  /// others have been read, and for a rank that the job does not have (usage).
  void logs(const std::string& id, const JobRecord& job, const LogRequest& request,
            JobObserver& observer, const Cancel& cancel);

  /// Removes what is left of an ended job on its nodes, logs included; nodes that are gone are
  /// passed over.
  std::vector<HostResult<ssh::Exit>> remove(const std::string& id, const JobRecord& job,
                                            const Cancel& cancel);

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
