// Looks at a job on its nodes, without its output and without any effect on it.
#pragma once

#include <chrono>
#include <vector>

#include "launcher/following.hpp"

namespace fastgpu::launcher {

/// Asks the nodes of a job once how far it is, without its ranks' output and without renewing its
/// lease. Those that do not answer within `limit` are skipped.
JobReport glance_at_nodes(ssh::Client& client, std::vector<ssh::Host> hosts,
                          std::vector<NodeRanks> placement, NodeCommands commands,
                          std::chrono::milliseconds limit, FollowingOptions options = {});

/// Waits until the node that has the supervisor reports the end of the job, until it is lost, or
/// for a cancel. The node gets the agent if it is missing. Throws as Following::run does.
void await_end_at(ssh::Client& client, const ssh::Host& head, const NodeRanks& ranks,
                  NodeCommands commands, const remote::AgentProgram& agent, const Cancel& cancel);

}  // namespace fastgpu::launcher
