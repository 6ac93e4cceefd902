// What nodes are to come to, as the facts of each decide it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "envs/drivers/cann.hpp"
#include "envs/drivers/plan.hpp"

namespace fastgpu::envs {

struct NodeGoal {
  std::vector<std::string> packages;  ///< Whose versions in the node's repositories it has to know.
  /// One part after the other.
  std::vector<std::function<std::vector<Step>(const NodeFacts&, Index)>> parts;
};

/// See driver_steps.
NodeGoal driver_goal(const Recipe& recipe, const Matrix& matrix);
/// See package_steps.
NodeGoal package_goal(const std::vector<std::string>& names);
/// See cann_steps.
NodeGoal cann_goal(const Cann& cann);
void add(NodeGoal& goal, const NodeGoal& more);

/// All that is to be done on a node with these facts. What a repository has becomes known once it
/// has been read, so that the plan is made anew from fresh facts after each step: the same function
/// says what is done and what is next. Throws as the parts, and usage for a node without apt and
/// dnf.
Plan plan_for(const NodeGoal& goal, const NodeFacts& facts, Index index);

}  // namespace fastgpu::envs
