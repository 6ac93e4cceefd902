#include "launcher/guard_orders.hpp"

#include "base/outcome.hpp"
#include "launcher/fan_out.hpp"

namespace fastgpu::launcher {
namespace {

constexpr std::chrono::milliseconds kGuardTimeout{30'000};

std::vector<NodeAnswer> call_all(ssh::Client& client, std::span<const ssh::Host> hosts,
                                 const std::string& call, const std::string& input,
                                 const remote::AgentProgram& agent, const Cancel& cancel,
                                 std::chrono::milliseconds timeout) {
  const std::vector<std::string> words = {call};
  std::vector<NodeTask> tasks;
  for (const ssh::Host& host : hosts)
    tasks.push_back({host, remote::agent_command(agent.hash, words), input});
  return ask_agent(client, tasks, agent, timeout, cancel);
}

agent::NodeWatch watch_in(const NodeAnswer& answer) {
  check({answer}, "asking for the reasons that keep it awake");
  return agent::parse_node_watch(answer.out);
}

}  // namespace

void tell_guards(ssh::Client& client, std::span<const ssh::Host> hosts,
                 const agent::GuardOrder& order, const remote::AgentProgram& agent,
                 const Cancel& cancel) {
  check(call_all(client, hosts, "guard-set", to_text(order), agent, cancel, kGuardTimeout),
        "setting the guard");
}

std::vector<HostResult<agent::NodeWatch>> watch_nodes(ssh::Client& client,
                                                      std::span<const ssh::Host> hosts,
                                                      const remote::AgentProgram& agent,
                                                      const Cancel& cancel,
                                                      std::chrono::milliseconds timeout) {
  std::vector<HostResult<agent::NodeWatch>> watches;
  for (const NodeAnswer& answer : call_all(client, hosts, "guard-show", "", agent, cancel, timeout))
    watches.push_back({answer.result.host, attempt([&] { return watch_in(answer); })});
  return watches;
}

}  // namespace fastgpu::launcher
