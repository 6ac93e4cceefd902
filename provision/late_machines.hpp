// Machines that were requested and given up, and that a cloud may list only later.
#pragma once

#include <span>

#include "provision/tools.hpp"

namespace fastgpu::provision {

/// Records those of `nodes`, which are given up, that may have a machine that has not been seen.
void expect_late_machines(const Tools& tools, std::span<const state::Node> nodes);

/// Ends those that have come. They are expected for as long as a cloud may not list a new machine.
void end_late_machines(const Tools& tools, Provider& provider, const state::Cluster& cluster);

}  // namespace fastgpu::provision
