// Access to nodes for environments: calls of the agent there, and their input.
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

/// Returns the next piece of standard input; absent at its end.
using NextPiece = std::function<std::optional<std::string>()>;

/// A command of the agent on one node.
struct NodeCall {
  std::vector<std::string> words;
  std::string input{};                      ///< The input; empty: no input.
  std::function<NextPiece()> open_input{};  ///< Replaces `input` if it is too large for memory.
};

/// Called with a node's current action.
using OnDoing = std::function<void(const NodeName& node, const std::string& doing)>;

struct NodeAccess {
  ssh::Client& client;
  remote::AgentProgram agent;
  ssh::RunOptions options{.keeps_connections = true};
  const Cancel& cancel;
  std::string cluster{};  ///< The identity of the nodes' cluster; empty: none.
};

/// Returns one answer for each host, in their order. Errors have the kind from the agent, and the
/// host's name in front.
std::vector<HostResult<agent::Records>> call_nodes(
    const NodeAccess& access, std::span<const ssh::Host> hosts,
    const std::function<NodeCall(std::size_t)>& call_of, const OnDoing& on_doing);

/// Returns the answer of one host; throws its error otherwise.
agent::Records call_node(const NodeAccess& access, const ssh::Host& host, const NodeCall& call,
                         const OnDoing& on_doing);

/// Calls the program of this machine, here.
agent::Records call_here(const remote::AgentProgram& agent, const NodeCall& call,
                         const Cancel& cancel);

}  // namespace fastgpu::envs
