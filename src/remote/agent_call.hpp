// Calls of the agent on many hosts: a try, an installation on the hosts that lack it, and a second
// try.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "remote/agent.hpp"

namespace fastgpu::remote {

/// The agent could not be put on a host: the command was not run there.
struct NoAgent {
  Error why;
};

using CallResult = std::variant<ssh::Exit, NoAgent, Error>;

/// Returns the task for one try; called again for the hosts that had no agent. A task's command is
/// built by agent_command. Its on_stderr does not receive the shell's complaint about a missing
/// agent. It receives the first line of the command's error output only once that line is complete.
using MakeTask = std::function<ssh::Task(std::size_t host)>;

/// Returns one result for each host, in their order. options.on_finished is called for each host
/// once the command has ended there, and not for one without the agent.
std::vector<CallResult> call_agent(ssh::Client& client, std::span<const ssh::Host> hosts,
                                   const AgentProgram& agent, const MakeTask& make_task,
                                   const ssh::RunOptions& options, const Cancel& cancel);

/// Runs the same command of the agent on all hosts. Returns their outputs, each cut at `most`
/// bytes; empty if the command did not run.
std::vector<std::string> ask_agents(ssh::Client& client, std::span<const ssh::Host> hosts,
                                    const AgentProgram& agent, std::span<const std::string> words,
                                    std::size_t most, const ssh::RunOptions& options,
                                    const Cancel& cancel);

}  // namespace fastgpu::remote
