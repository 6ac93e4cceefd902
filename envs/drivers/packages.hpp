// Packages of the distribution that a node is to have.
#pragma once

#include <string>
#include <vector>

#include "envs/drivers/plan.hpp"

namespace fastgpu::envs {

/// What is to be done so that all of them are installed, whichever version the distribution has;
/// steps that are done are in it too. Throws ErrorKind::usage for a node without apt, and for
/// packages that its repositories do not have.
std::vector<Step> package_steps(const std::vector<std::string>& names, const NodeFacts& facts,
                                Index index);

}  // namespace fastgpu::envs
