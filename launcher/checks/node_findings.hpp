// The faults of the nodes of a cluster, each by itself and beside the others. Pure.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "launcher/checks/checked_node.hpp"
#include "launcher/checks/finding.hpp"

namespace fastgpu::launcher {

/// The names of the checks on nodes, in the order in which they are shown.
std::span<const std::string_view> node_checks() noexcept;

/// Returns why a check does not apply to these nodes: "no GPU"; empty if it does.
std::string not_checked(std::string_view check, std::span<const CheckedNode> nodes);

/// Returns the findings about nodes of `cluster`, in the order of node_checks(). `running` are the
/// ids of the jobs that may have processes on the nodes.
std::vector<Finding> node_findings(std::span<const CheckedNode> nodes,
                                   const std::set<std::string>& running,
                                   const std::string& cluster);

}  // namespace fastgpu::launcher
