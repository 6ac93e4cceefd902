// The orders to nodes about their own end, and their reports on what keeps them awake.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "agent/protocol/guard.hpp"
#include "base/cancel.hpp"
#include "base/host_result.hpp"
#include "remote/agent.hpp"
#include "ssh/client.hpp"

namespace fastgpu::launcher {

/// Makes each node follow this order, and no earlier one, from now on; an empty order ends that.
/// Throws the first node's failure.
void tell_guards(ssh::Client& client, std::span<const ssh::Host> hosts,
                 const agent::GuardOrder& order, const remote::AgentProgram& agent,
                 const Cancel& cancel);

/// Returns each node's report on itself, if it comes within `timeout`.
std::vector<HostResult<agent::NodeWatch>> watch_nodes(
    ssh::Client& client, std::span<const ssh::Host> hosts, const remote::AgentProgram& agent,
    const Cancel& cancel, std::chrono::milliseconds timeout = std::chrono::seconds(30));

}  // namespace fastgpu::launcher
