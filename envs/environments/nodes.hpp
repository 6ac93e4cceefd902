// Nodes as environments see them: calls of the agent there, and files on their way to it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/protocol/environment.hpp"
#include "base/cancel.hpp"
#include "remote/agent.hpp"
#include "ssh/client.hpp"

namespace fastgpu::envs {

/// The next piece of standard input; absent at its end.
using NextPiece = std::function<std::optional<std::string>()>;

/// What the agent is to do on one node.
struct NodeCall {
  std::vector<std::string> words;
  std::string input{};                      ///< Empty: none.
  std::function<NextPiece()> open_input{};  ///< In place of it, where that is too much to hold.
};

/// Told what a node says that it is doing.
using OnDoing = std::function<void(const NodeName& node, const std::string& doing)>;

struct NodeAccess {
  ssh::Client& client;
  remote::AgentProgram agent;
  ssh::RunOptions options{.keeps_connections = true};
  const Cancel& cancel;
};

/// One answer for each host, in their order. Errors have the kind that the agent gave them, and the
/// host's name in front.
std::vector<HostResult<agent::Records>> call_nodes(
    const NodeAccess& access, std::span<const ssh::Host> hosts,
    const std::function<NodeCall(std::size_t)>& call_of, const OnDoing& on_doing);

/// The answer of one host; throws what became of it otherwise.
agent::Records call_node(const NodeAccess& access, const ssh::Host& host, const NodeCall& call,
                         const OnDoing& on_doing);

/// The program of this machine, called here.
agent::Records call_here(const remote::AgentProgram& agent, const NodeCall& call,
                         const Cancel& cancel);

}  // namespace fastgpu::envs
