// Nodes of a creation that did not wait for them: the first command that needs them makes them
// ours.
#pragma once

#include <set>
#include <span>

#include "provision/tools.hpp"

namespace fastgpu::provision {

/// Returns the nodes of the cluster that were requested and not reached yet.
std::set<NodeName> unmet_nodes(const state::Store& store, const state::ClusterId& cluster);

/// Returns those among them that a cloud need not list yet.
std::set<NodeName> just_asked_for(const state::Store& store, const state::ClusterId& cluster);

/// Waits until the unmet ones of `nodes` let us in with host keys that only they know; returns
/// false if all are met already. New facts are stored, and after a kill the same call goes on.
/// Throws ErrorKind::capacity if a machine did not start.
bool meet_nodes(const Tools& tools, const ClusterName& name, std::span<const state::Node> nodes);

}  // namespace fastgpu::provision
