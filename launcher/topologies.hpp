// Asks nodes for their processors and devices.
#pragma once

#include <span>
#include <vector>

#include "base/cancel.hpp"
#include "launcher/binding.hpp"
#include "remote/agent.hpp"
#include "ssh/client.hpp"

namespace fastgpu::launcher {

/// Returns the topology of each host, in their order. Installs the agent where it is missing.
/// Throws the first node's failure.
std::vector<NodeTopology> ask_topologies(ssh::Client& client, std::span<const ssh::Host> hosts,
                                         const remote::AgentProgram& agent, const Cancel& cancel);

}  // namespace fastgpu::launcher
