// The nodes that plans are for: how they are reached, what is true on them, what would be done.
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

/// The nodes, and how to reach them. Everything is borrowed.
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

/// envs::probe on some of the nodes. A node that says nothing is given up after two minutes.
std::vector<HostResult<NodeFacts>> look_at(const DriverNodes& nodes,
                                           std::span<const ssh::Host> hosts,
                                           const std::vector<std::string>& packages);

struct Planned {
  NodeFacts facts;
  Plan plan;
};

/// What install_on would do, and nothing done. `assume` says what the plan is to take for facts
/// (with_assumed_gpus), or is empty. Errors as envs::probe, `assume` and the goal's plan.
std::vector<HostResult<Planned>> plan_on(const DriverNodes& nodes, const NodeGoal& goal,
                                         const std::function<NodeFacts(NodeFacts)>& assume = {});

}  // namespace fastgpu::envs
