// Copies file trees to many hosts: sends them once, and each host passes them on to the next.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "remote/agent.hpp"
#include "remote/copy_options.hpp"

namespace fastgpu::remote {

/// How the nodes reach each other over SSH.
struct NodeRoute {
  /// The path of the ssh configuration on every node, relative to the home directory.
  std::string config;
  /// The names of the cluster's hosts in that configuration, in their order.
  std::vector<std::string> names;
};

/// Copies like copy_to(), but over a chain: the first host gets the stream from here, and each host
/// passes it on to the next one while it receives it. So a copy takes about as long as to one host.
/// `route.names` has a name for each of `hosts`. A host that cannot store the copy still passes it
/// on. Hosts behind an unreachable one get the copy by another chain, and finally from here.
std::vector<HostResult<Copied>> copy_through(ssh::Client& client, std::span<const ssh::Host> hosts,
                                             const NodeRoute& route,
                                             const std::vector<std::filesystem::path>& sources,
                                             const std::string& destination,
                                             const AgentProgram& agent, const CopyOptions& options,
                                             CopyProgress* progress, const Cancel& cancel);

}  // namespace fastgpu::remote
