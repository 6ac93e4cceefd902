// Jobs on a cluster: started, followed, stopped, looked at afterwards.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/following.hpp"
#include "launcher/job_files.hpp"
#include "launcher/outcome.hpp"
#include "ssh/client.hpp"

namespace fastgpu::launcher {

/// A node of the cluster as jobs need it.
struct ClusterNode {
  ssh::Host host;  ///< How we reach it.
  Peer peer;       ///< How the other nodes reach it.
};

/// Whether the nodes of a job are asked, while it starts, if they reach each other.
enum class NetworkCheck : std::uint8_t { on, off };

struct RunnerOptions {
  remote::AgentProgram agent;  ///< Put on the nodes where it is missing.
  std::chrono::milliseconds lease{30'000};
  std::chrono::milliseconds lost_after{15'000};
  Retention retention{};
  NetworkCheck network_check = NetworkCheck::on;
};

/// The effect of a cancel on a job that is being followed.
enum class OnCancel : std::uint8_t { stop_job, leave_job };

enum class LogMode : std::uint8_t { what_there_is, follow };

struct LogRequest {
  std::optional<int> rank{};            ///< Absent: all, mpirun's own output included.
  std::optional<std::uint64_t> tail{};  ///< Lines of each log.
  LogMode mode = LogMode::what_there_is;
};

/// One job at a time, like the client it uses. All calls block.
class JobRunner {
 public:
  /// `nodes`: all of the cluster; those that a placement names are used.
  JobRunner(ssh::Client& client, std::vector<ClusterNode> nodes, ClusterAccess access,
            RunnerOptions options);

  /// Writes the job on its nodes and starts it. When this returns the job runs under its
  /// supervisor; when it throws, or `cancel` comes, nothing of it runs. Starting the same id twice
  /// is one start. `when_prepared` is called once the job's own directory is on every node, before
  /// anything runs there: the moment to fill job_work_directory.
  void start(const std::string& id, const JobRecord& job, const Cancel& cancel,
             const std::function<void()>& when_prepared = {});

  /// Tries what `start` would do, and starts nothing: the nodes answer, mpirun is there, and so are
  /// the working directory and a program that is named by a path. Throws as `start`. Returns what
  /// the job would come to if its ranks cannot begin; absent: they can.
  std::optional<Outcome> try_start(const JobRecord& job, const Cancel& cancel);

  /// Follows a job, from wherever it is, to its end; a cancel stops it everywhere within five
  /// seconds, or leaves it. With leave_job, a cancel throws ErrorKind::interrupted.
  Outcome follow(const std::string& id, const JobRecord& job, OnCancel on_cancel,
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
  const ClusterNode* find_node(const NodeName& name) const;
  const ClusterNode& node(const NodeName& name) const;
  std::vector<ssh::Host> hosts(const JobRecord& job) const;
  NodeCommands commands(const std::string& id) const;
  JobFilesRequest request_for(const std::string& id, const JobRecord& job) const;
  std::vector<agent::NodeFacts> put_ranks(const JobFilesRequest& request, const Cancel& cancel);
  void put_and_start(const JobFilesRequest& request, std::span<const agent::NodeFacts> facts,
                     const Cancel& cancel);
  /// The words by which the node at `place` is asked; empty where it is not.
  std::vector<std::string> reach_words_for(const JobFilesRequest& request,
                                           std::span<const agent::NodeFacts> facts,
                                           std::size_t place) const;

  ssh::Client& client_;
  std::vector<ClusterNode> nodes_;
  ClusterAccess access_;
  RunnerOptions options_;
};

}  // namespace fastgpu::launcher
