// One command per host, and the evaluation of the answers.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "remote/agent.hpp"
#include "ssh/client.hpp"

namespace fastgpu::launcher {

struct NodeTask {
  ssh::Host host;
  std::string command;
  std::string input{};
  std::size_t most_output = 1UL << 20U;  ///< Maximum of each stream; the rest is dropped.
};

struct NodeAnswer {
  HostResult<ssh::Exit> result;
  std::string out{};
  std::string err{};
};

std::vector<NodeAnswer> ask(ssh::Client& client, const std::vector<NodeTask>& tasks,
                            std::chrono::milliseconds timeout, const Cancel& cancel,
                            std::optional<std::chrono::milliseconds> connect_timeout = {});

/// Runs commands that call the agent, and installs it if it is missing.
std::vector<NodeAnswer> ask_agent(ssh::Client& client, const std::vector<NodeTask>& tasks,
                                  const remote::AgentProgram& agent,
                                  std::chrono::milliseconds timeout, const Cancel& cancel,
                                  std::optional<std::chrono::milliseconds> connect_timeout = {});

/// Returns the result of a command that confirms its success by exit status 0. Any other status is
/// an error with the first line that the command wrote to stderr, and the kind of
/// agent::kind_of_exit().
HostResult<ssh::Exit> confirmation(NodeAnswer answer);

/// Throws the first unsuccessful answer: the connection's error, or the agent's message with the
/// kind of agent::kind_of_exit().
void check(const std::vector<NodeAnswer>& answers, const std::string& doing);

}  // namespace fastgpu::launcher
