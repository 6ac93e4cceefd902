// Machines that were requested and given up, and that a cloud may list only later.
#pragma once

#include <set>
#include <span>

#include "provision/tools.hpp"

namespace fastgpu::provision {

/// Records those of `nodes`, which are given up, that may have a machine that has not been listed:
/// one that had no address yet. An order by its id may have met a cloud that did not know it. A
/// node with neither an id nor a token has none: its request was refused.
void expect_late_machines(const Tools& tools, std::span<const state::Node> nodes);

/// Returns the indexes of nodes that were given up, and whose machines may still appear.
std::set<int> indexes_of_late_machines(const state::Store& store, const state::ClusterId& cluster);

/// Ends the machines that have appeared since. They are expected until kUnlistedAtMost is over.
void end_late_machines(const Tools& tools, Provider& provider, const state::Cluster& cluster);

}  // namespace fastgpu::provision
