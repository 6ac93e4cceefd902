// Runs the agent on many hosts: tries, installs it on the hosts that lack it, and tries again
// there.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/outcome.hpp"
#include "remote/agent.hpp"

namespace fastgpu::remote {

/// The outcome on one host.
struct CallResult {
  Outcome<ssh::Exit> exit{};
  bool lacks_agent = false;  ///< The agent could not be installed, so that the command was not run.
};

/// Returns the task for one attempt; called again for the hosts that had no agent. The task's
/// command must be built by agent_command(). Its on_stderr does not receive the shell's error about
/// a missing agent. For this reason it receives the first line of the command's stderr only once
/// that line is complete.
using MakeTask = std::function<ssh::Task(std::size_t host)>;

/// Returns one result for each host, in their order. Calls options.on_finished for each host once
/// the command has ended there, but not for hosts without the agent.
std::vector<CallResult> call_agent(ssh::Client& client, std::span<const ssh::Host> hosts,
                                   const AgentProgram& agent, const MakeTask& make_task,
                                   const ssh::RunOptions& options, const Cancel& cancel);

/// Runs the same command of the agent on all hosts. Returns their outputs, each cut after `most`
/// bytes. The output is empty for a host on which the command did not run.
std::vector<std::string> ask_agents(ssh::Client& client, std::span<const ssh::Host> hosts,
                                    const AgentProgram& agent, std::span<const std::string> words,
                                    std::size_t most, const ssh::RunOptions& options,
                                    const Cancel& cancel);

}  // namespace fastgpu::remote
