// The files on the nodes before a job starts. Pure.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "agent/protocol/facts.hpp"
#include "agent/protocol/files.hpp"
#include "base/secret.hpp"
#include "launcher/access.hpp"
#include "launcher/job.hpp"
#include "launcher/node_commands.hpp"

namespace fastgpu::launcher {

/// One node of a job, with the data that the job needs.
struct JobNode {
  NodeRanks ranks;
  Peer peer;
};

struct JobFilesRequest {
  std::string id;
  JobSpec spec;
  std::vector<JobNode> nodes;  ///< Sorted by rank.
  ClusterAccess access;
  Secret communicator_secret;
  std::chrono::milliseconds lease{30'000};
};

/// Returns the files for one node: the command of its ranks, and their variables. These are in
/// files of their own, so that they are in no argument list and can be removed when the ranks have
/// ended.
std::vector<agent::SmallFile> rank_files(const JobFilesRequest& request, const JobNode& node);

/// Returns the files for the first node: the supervisor's plan, the hostfile and the cluster's key.
/// `facts` are those of all nodes, in order. Throws ErrorKind::remote if mpirun is missing, is
/// another MPI, or has another path than on the first node.
std::vector<agent::SmallFile> start_files(const JobFilesRequest& request,
                                          std::span<const agent::NodeFacts> facts,
                                          const NodeCommands& commands);

}  // namespace fastgpu::launcher
