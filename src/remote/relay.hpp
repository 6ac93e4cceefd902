// File trees to many hosts, sent once, from host to host.
#pragma once

#include "remote/copy.hpp"

namespace fastgpu::remote {

/// How the nodes reach each other over SSH.
struct NodeRoute {
  std::string config;              ///< ssh's configuration on every node, relative to home.
  std::vector<std::string> names;  ///< What it calls each host of the cluster, in their order.
};

/// Bytes of content in the trees; what cannot be read counts as nothing.
std::uint64_t content_of(const std::vector<std::filesystem::path>& sources);

/// As copy_to, but for the way: the first host gets the stream from here, and each passes it on to
/// the next while it receives, so that it takes about as long as for one host. `route.names` has a
/// name for each of `hosts`. A host that cannot keep what it gets passes it on all the same; those
/// behind one that is out of reach get it by a chain of their own, or at last from here.
std::vector<HostResult<Copied>> copy_through(ssh::Client& client, std::span<const ssh::Host> hosts,
                                             const NodeRoute& route,
                                             const std::vector<std::filesystem::path>& sources,
                                             const std::string& destination,
                                             const AgentProgram& agent, const CopyOptions& options,
                                             CopyProgress* progress, const Cancel& cancel);

}  // namespace fastgpu::remote
