// Calls of the agent on many hosts that first try, then put it where it is missing, and try again.
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

/// Gives the tasks for one try; called again for the hosts that had no agent. A task's command is
/// built by agent_command; its on_stderr does not hear the shell's complaint about a missing agent,
/// and hears the first line of what the command says only once that line is complete.
using MakeTask = std::function<ssh::Task(std::size_t host)>;

/// One result for each host, in their order. options.on_finished is told of each host once the
/// command has ended there, and not of one without the agent.
std::vector<CallResult> call_agent(ssh::Client& client, std::span<const ssh::Host> hosts,
                                   const AgentProgram& agent, const MakeTask& make_task,
                                   const ssh::RunOptions& options, const Cancel& cancel);

/// Runs the same command of the agent on all hosts; what each said on its output, cut at `most`
/// bytes; empty where it did not run.
std::vector<std::string> ask_agents(ssh::Client& client, std::span<const ssh::Host> hosts,
                                    const AgentProgram& agent, std::span<const std::string> words,
                                    std::size_t most, const ssh::RunOptions& options,
                                    const Cancel& cancel);

}  // namespace fastgpu::remote
