// File trees to many hosts, sent once, from host to host.
#pragma once

#include "remote/copy.hpp"

namespace fastgpu::remote {

/// The nodes' way to each other over SSH.
struct NodeRoute {
  /// The path of ssh's configuration on every node, relative to home.
  std::string config;
  /// The names in it for the hosts of the cluster, in their order.
  std::vector<std::string> names;
};

/// Returns the bytes of content in the trees; unreadable entries count as nothing.
std::uint64_t content_of(const std::vector<std::filesystem::path>& sources);

/// Copies like copy_to, but over another way. The first host gets the stream from here, and each
/// passes it on to the next while it receives. So it takes about as long as for one host.
/// `route.names` has a name for each of `hosts`. A host that cannot keep the copy passes it on all
/// the same. Hosts behind an unreachable one get it by a chain of their own, or at last from here.
std::vector<HostResult<Copied>> copy_through(ssh::Client& client, std::span<const ssh::Host> hosts,
                                             const NodeRoute& route,
                                             const std::vector<std::filesystem::path>& sources,
                                             const std::string& destination,
                                             const AgentProgram& agent, const CopyOptions& options,
                                             CopyProgress* progress, const Cancel& cancel);

}  // namespace fastgpu::remote
