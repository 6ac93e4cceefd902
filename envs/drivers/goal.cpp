#include "envs/drivers/goal.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "envs/drivers/adapters.hpp"
#include "envs/drivers/packages.hpp"
#include "envs/drivers/steps.hpp"

namespace fastgpu::envs {

NodeGoal driver_goal(const Recipe& recipe, const Matrix& matrix) {
  return {packages_of_interest(recipe, matrix), {[=](const NodeFacts& facts, Index index) {
            return driver_steps(recipe, facts, matrix, index);
          }}};
}

NodeGoal rdma_goal(const Recipe& recipe) {
  return {{}, {[=](const NodeFacts& facts, Index /*index*/) -> std::vector<DriverStep> {
            if (!has_rdma(facts)) return {};
            return adapter_steps(recipe, facts, *package_manager(facts));
          }}};
}

NodeGoal package_goal(const std::vector<std::string>& names) {
  return {names, {[=](const NodeFacts& facts, Index index) {
            return package_steps(names, facts, index);
          }}};
}

NodeGoal cann_goal(const Cann& cann) {
  return {cann_packages(),
          {[=](const NodeFacts& facts, Index /*index*/) { return cann_steps(cann, facts); }}};
}

void add(NodeGoal& goal, const NodeGoal& more) {
  std::ranges::copy(more.packages, std::back_inserter(goal.packages));
  std::ranges::copy(more.parts, std::back_inserter(goal.parts));
}

DriverPlan plan_for(const NodeGoal& goal, const NodeFacts& facts, Index index) {
  std::vector<DriverStep> body;
  for (const auto& part : goal.parts)
    std::ranges::move(part(facts, index), std::back_inserter(body));
  return framed(std::move(body), facts, *package_manager(facts));
}

}  // namespace fastgpu::envs
