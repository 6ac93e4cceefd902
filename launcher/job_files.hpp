// The files on the nodes before a job starts. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "agent/protocol/facts.hpp"
#include "agent/protocol/files.hpp"
#include "agent/protocol/plan.hpp"
#include "launcher/job_files_request.hpp"
#include "launcher/node_commands.hpp"

namespace fastgpu::launcher {

/// Returns the plan for the ranks of one node.
agent::JobPlan rank_plan(const JobFilesRequest& request, const JobNode& node);

/// Returns the files for one node: the command of its ranks, and their variables. These are in
/// files of their own, so that they are in no argument list and can be removed when the ranks have
/// ended.
std::vector<agent::SmallFile> rank_files(const JobFilesRequest& request, const JobNode& node);

/// Returns the files for the first node: the supervisor's plan, the hostfile and the cluster's key.
/// `facts` are those of all nodes, in order. Throws ErrorKind::remote if mpirun is missing, is
/// another MPI, or has another path than on the first node.
std::vector<agent::SmallFile> start_files(const JobFilesRequest& request,
                                          std::span<const agent::JobNodeFacts> facts,
                                          const NodeCommands& commands);

}  // namespace fastgpu::launcher
