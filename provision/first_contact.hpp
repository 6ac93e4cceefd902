// Nodes of a creation that did not wait for them: whoever needs them first makes them ours.
#pragma once

#include <set>
#include <span>

#include "provision/tools.hpp"

namespace fastgpu::provision {

/// The nodes of the cluster that were asked for and that nobody has reached yet.
std::set<NodeName> unmet_nodes(const state::Store& store, const state::ClusterId& cluster);

/// Those among them that a cloud need not list yet.
std::set<NodeName> just_asked_for(const state::Store& store, const state::ClusterId& cluster);

/// Waits until those of `nodes` that are unmet let us in with host keys that only they know; false
/// where there is none. What is learnt is stored, and after a kill the same call goes on. Throws
/// ErrorKind::capacity where a machine did not start.
bool meet_nodes(const Tools& tools, const ClusterName& name, std::span<const state::Node> nodes);

}  // namespace fastgpu::provision
