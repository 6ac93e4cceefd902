// Packages of the distribution that a node should have.
#pragma once

#include <string>
#include <vector>

#include "envs/drivers/driver_plan.hpp"

namespace fastgpu::envs {

/// Returns the steps after which all of them are installed, in any version of the distribution;
/// finished steps are included. Throws ErrorKind::usage for a node without apt, and for packages
/// that its repositories lack.
std::vector<DriverStep> package_steps(const std::vector<std::string>& names, const NodeFacts& facts,
                                      Index index);

}  // namespace fastgpu::envs
