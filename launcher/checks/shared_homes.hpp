// Nodes whose users have one home directory, on a file server or on one machine. Pure.
#pragma once

#include <span>
#include <vector>

#include "launcher/checks/checked_node.hpp"
#include "launcher/checks/finding.hpp"

namespace fastgpu::launcher {

/// Returns a finding for each home directory that several nodes share.
std::vector<Finding> shared_home_findings(std::span<const CheckedNode> nodes);

}  // namespace fastgpu::launcher
