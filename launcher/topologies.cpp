#include "launcher/topologies.hpp"

#include <chrono>
#include <string>

#include "launcher/fan_out.hpp"

namespace fastgpu::launcher {

std::vector<NodeTopology> ask_topologies(ssh::Client& client, std::span<const ssh::Host> hosts,
                                         const remote::AgentProgram& agent, const Cancel& cancel) {
  constexpr std::chrono::seconds kLimit{30};
  constexpr std::size_t kMostTopology = 16UL << 20U;
  const std::vector<std::string> words = {"topology"};
  std::vector<NodeTask> tasks;
  for (const ssh::Host& host : hosts)
    tasks.push_back({.host = host,
                     .command = remote::agent_command(agent.hash, words),
                     .most_output = kMostTopology});
  const auto answers = ask_agent(client, tasks, agent, kLimit, cancel);
  check(answers, "reading the topology");
  std::vector<NodeTopology> nodes;
  for (const NodeAnswer& answer : answers)
    nodes.push_back({.name = answer.result.host, .topology = agent::parse_topology(answer.out)});
  return nodes;
}

}  // namespace fastgpu::launcher
