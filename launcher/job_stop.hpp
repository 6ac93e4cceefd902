// The stop of a job on all of its nodes at once.
#pragma once

#include <chrono>
#include <vector>

#include "base/host_result.hpp"
#include "base/names.hpp"
#include "launcher/cluster_nodes.hpp"
#include "launcher/node_commands.hpp"
#include "remote/agent.hpp"
#include "ssh/client.hpp"

namespace fastgpu::launcher {

/// The time to reach each node that a job is stopped on, in a command that has reached it before.
constexpr std::chrono::milliseconds kReachSoon{1'300};
/// A command that only stops a job waits longer: a node whose cores all compute answers late.
constexpr std::chrono::milliseconds kReach{10'000};

/// The limits for the stop on each node.
struct StopLimits {
  std::chrono::milliseconds reach = kReach;  ///< The time to reach a node.
  std::chrono::milliseconds grace{0};        ///< The time of the programs to end by themselves.
};

/// Stops the job on the `members`, of which `head` has its supervisor. Returns whether each has
/// confirmed it, the head first; the error of a node that has not names its reason. A node without
/// the agent, which cannot confirm that nothing runs there, gets one. A node that has left the
/// cluster runs nothing any more.
std::vector<HostResult<ssh::Exit>> stop_on_nodes(ssh::Client& client, const JobMembers& members,
                                                 const NodeName& head, const NodeCommands& commands,
                                                 const remote::AgentProgram& agent,
                                                 const StopLimits& limits);

}  // namespace fastgpu::launcher
