// The nodes of plans: access to them, their facts, their plans.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/host_result.hpp"
#include "envs/drivers/goal.hpp"
#include "remote/agent.hpp"
#include "ssh/client.hpp"

namespace fastgpu::envs {

/// The nodes and the access to them. Everything is borrowed.
struct DriverNodes {
  ssh::Client& client;
  std::span<const ssh::Host> hosts;
  const remote::AgentProgram& agent;
  Clock& clock;
  const Cancel& cancel;
  int width = 64;
  std::optional<std::chrono::milliseconds> connect_timeout{};
};

ssh::RunOptions run_options(const DriverNodes& nodes, std::chrono::milliseconds limit);

/// Runs envs::probe on some of the nodes. A silent node is given up after two minutes.
std::vector<HostResult<NodeFacts>> look_at(const DriverNodes& nodes,
                                           std::span<const ssh::Host> hosts,
                                           const std::vector<std::string>& packages);

struct PlannedNode {
  NodeFacts facts;
  DriverPlan plan;
};

/// Returns the plans of install_on without running them. `assume` changes the facts for the plan
/// (with_assumed_gpus), or is empty. Errors as envs::probe, `assume` and the goal's plan.
std::vector<HostResult<PlannedNode>> plan_on(
    const DriverNodes& nodes, const NodeGoal& goal,
    const std::function<NodeFacts(NodeFacts)>& assume = {});

}  // namespace fastgpu::envs
