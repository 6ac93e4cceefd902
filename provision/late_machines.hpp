// Machines that were asked for and given up, and that a cloud may list only later.
#pragma once

#include <span>

#include "provision/tools.hpp"

namespace fastgpu::provision {

/// Writes down which of `nodes`, which are given up, may have a machine that nobody has seen.
void expect_late_machines(const Tools& tools, std::span<const state::Node> nodes);

/// Ends those that have come. They are expected for as long as a cloud may not list what it has
/// given.
void end_late_machines(const Tools& tools, Provider& provider, const state::Cluster& cluster);

}  // namespace fastgpu::provision
