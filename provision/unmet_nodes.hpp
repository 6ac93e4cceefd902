// Nodes that were requested and have not been reached yet.
#pragma once

#include <set>

#include "state/store.hpp"

namespace fastgpu::provision {

/// Returns the nodes of the cluster that were requested and have not been reached yet.
std::set<NodeName> unmet_nodes(const state::Store& store, const state::ClusterId& cluster);

/// Returns the nodes, with those that are being made, that were requested so lately that a cloud
/// may not list them yet.
std::set<NodeName> just_asked_for(const state::Store& store, const state::ClusterId& cluster);

}  // namespace fastgpu::provision
