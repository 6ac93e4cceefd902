// The goal for nodes, decided from the facts of each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "envs/drivers/cann.hpp"
#include "envs/drivers/driver_plan.hpp"

namespace fastgpu::envs {

struct NodeGoal {
  /// The packages whose versions in the node's repositories are needed.
  std::vector<std::string> packages;
  /// The parts, one after the other.
  std::vector<std::function<std::vector<DriverStep>(const NodeFacts&, Index)>> parts;
};

/// Returns the goal of driver_steps.
NodeGoal driver_goal(const Recipe& recipe, const Matrix& matrix);
/// Returns the goal of adapter_steps: nothing for a node without RDMA.
NodeGoal rdma_goal(const Recipe& recipe);
/// Returns the goal of package_steps.
NodeGoal package_goal(const std::vector<std::string>& names);
/// Returns the goal of cann_steps.
NodeGoal cann_goal(const Cann& cann);
void add(NodeGoal& goal, const NodeGoal& more);

/// Returns the whole plan for a node with these facts. The content of a repository is known only
/// after it was read. So the plan is made again from fresh facts after each step: the same function
/// shows finished steps and the next one. Throws as the parts, and usage for a node without apt and
/// dnf.
DriverPlan plan_for(const NodeGoal& goal, const NodeFacts& facts, Index index);

}  // namespace fastgpu::envs
