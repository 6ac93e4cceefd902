#include "envs/drivers/nodes.hpp"

#include <utility>

#include "base/outcome.hpp"
#include "envs/facts/probe.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::chrono::milliseconds kProbeLimit{120'000};

}  // namespace

ssh::RunOptions run_options(const DriverNodes& nodes, std::chrono::milliseconds limit) {
  return {.width = nodes.width, .connect_timeout = nodes.connect_timeout, .timeout = limit};
}

std::vector<HostResult<NodeFacts>> look_at(const DriverNodes& nodes,
                                           std::span<const ssh::Host> hosts,
                                           const std::vector<std::string>& packages) {
  return probe(nodes.client, hosts, packages, run_options(nodes, kProbeLimit), nodes.cancel);
}

std::vector<HostResult<PlannedNode>> plan_on(const DriverNodes& nodes, const NodeGoal& goal,
                                             const std::function<NodeFacts(NodeFacts)>& assume) {
  const auto found = look_at(nodes, nodes.hosts, goal.packages);
  std::vector<HostResult<PlannedNode>> results;
  for (const HostResult<NodeFacts>& result : found) {
    const auto planned = [&] {
      NodeFacts facts = assume ? assume(result.value()) : result.value();
      DriverPlan plan = plan_for(goal, facts, Index::perhaps_old);
      return PlannedNode{std::move(facts), std::move(plan)};
    };
    results.push_back({result.host, attempt(planned)});
  }
  return results;
}

}  // namespace fastgpu::envs
