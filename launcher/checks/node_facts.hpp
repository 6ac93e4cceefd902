// The report of one node about itself.
#pragma once

#include "agent/protocol/facts.hpp"
#include "base/outcome.hpp"
#include "remote/agent.hpp"

namespace fastgpu::launcher {

/// Asks a node for its facts; installs the agent if the node lacks it. A node that does not answer
/// is an error in the result.
Outcome<agent::JobNodeFacts> ask_node(ssh::Client& client, const ssh::Host& host,
                                      const remote::AgentProgram& agent,
                                      const ssh::RunOptions& options, const Cancel& cancel);

}  // namespace fastgpu::launcher
