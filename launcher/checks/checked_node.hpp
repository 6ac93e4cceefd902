// A node of a check, with what it has reported.
#pragma once

#include <chrono>

#include "agent/protocol/facts.hpp"
#include "base/names.hpp"
#include "base/outcome.hpp"
#include "launcher/checks/node_health.hpp"

namespace fastgpu::launcher {

struct CheckedNode {
  NodeName name;
  Outcome<NodeHealth> state{};
  Outcome<agent::JobNodeFacts> facts{};      ///< The report of the agent.
  std::chrono::milliseconds clock_ahead{0};  ///< The node's clock minus ours, as it arrived here.
};

}  // namespace fastgpu::launcher
