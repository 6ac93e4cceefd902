// The orders to nodes about their own end, and their reports on what keeps them awake.
#pragma once

#include <chrono>
#include <cstdint>
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

/// Returns a node's report with its times by our clock. The node was asked at `asked` and the
/// report was there at `heard`, in seconds since 1970 by our clock: times stay as they are if the
/// node's clock can agree with ours. Pure.
agent::NodeWatch by_our_clock(agent::NodeWatch watch, std::int64_t asked, std::int64_t heard);

/// Returns each node's report on itself by our clock, if it comes within `timeout`.
std::vector<HostResult<agent::NodeWatch>> watch_nodes(
    ssh::Client& client, std::span<const ssh::Host> hosts, const remote::AgentProgram& agent,
    const Cancel& cancel, std::chrono::milliseconds timeout = std::chrono::seconds(30));

}  // namespace fastgpu::launcher
