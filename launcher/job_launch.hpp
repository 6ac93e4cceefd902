// The start of one job on its nodes: its files, the check of its network, and its supervisor.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "agent/protocol/facts.hpp"
#include "base/cancel.hpp"
#include "base/names.hpp"
#include "launcher/cluster_nodes.hpp"
#include "launcher/fan_out.hpp"
#include "launcher/job_files_request.hpp"
#include "launcher/node_commands.hpp"
#include "launcher/runner_options.hpp"
#include "ssh/client.hpp"

namespace fastgpu::launcher {

/// The steps of the start, in this order. All calls block.
class JobLaunch {
 public:
  /// Borrows all.
  JobLaunch(ssh::Client& client, const ClusterNodes& nodes, const RunnerOptions& options,
            const JobFilesRequest& request);

  /// Writes the files of the ranks on all nodes, where the job's own directory then exists. Returns
  /// the facts of the nodes, in their order. Throws JobIdTaken, or NodesSilent if nodes cannot be
  /// reached, after the files on the others are removed.
  std::vector<agent::JobNodeFacts> prepare(const Cancel& cancel);

  /// Puts the rank table of HCCL on nodes with Ascend processors. Returns why it cannot; empty on
  /// other nodes.
  std::string put_rank_table(std::span<const agent::JobNodeFacts> facts, const Cancel& cancel);

  /// Starts the supervisor on the first node. Throws if that fails, and, with the job started, if
  /// nodes do not reach each other.
  void start(std::span<const agent::JobNodeFacts> facts, const Cancel& cancel);

 private:
  const ssh::Host& host_of(const JobNode& member) const;
  std::vector<NodeAnswer> put_first_files(agent::FolderPlace place, const Cancel& cancel);
  void remove_files(std::span<const NodeName> from);

  ssh::Client& client_;
  const ClusterNodes& nodes_;
  const RunnerOptions& options_;
  const JobFilesRequest& request_;
  NodeCommands commands_;
};

}  // namespace fastgpu::launcher
