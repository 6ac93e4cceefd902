// Checks the nodes of a cluster and the connections between them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "launcher/checks/links.hpp"
#include "launcher/checks/node_findings.hpp"
#include "launcher/cluster_nodes.hpp"
#include "remote/agent.hpp"
#include "ssh/client.hpp"

namespace fastgpu::launcher {

/// Runs the script of the check on all nodes at once, and then the agent, which it installs where
/// it is missing. Takes two minutes at most. Throws only ErrorKind::interrupted.
std::vector<CheckedNode> check_nodes(ssh::Client& client, std::span<const ClusterNode> nodes,
                                     const remote::AgentProgram& agent, const Cancel& cancel);

/// Returns the nodes that answered, with the addresses at which they reach each other, and with
/// random ports of the range that programs get from the kernel.
std::vector<LinkNode> linked_nodes(std::span<const ClusterNode> nodes,
                                   std::span<const CheckedNode> checked);

/// Returns a request with a new secret, for connections that are only tried.
LinkProbeRequest new_link_probe();

/// Tries or measures the connections between the nodes. Takes link_limit() at most, in addition to
/// the logins. Throws only ErrorKind::interrupted.
LinkAnswers probe_links(ssh::Client& client, std::span<const ClusterNode> nodes,
                        std::span<const LinkNode> links, const LinkProbeRequest& request,
                        const remote::AgentProgram& agent, const Cancel& cancel);

}  // namespace fastgpu::launcher
