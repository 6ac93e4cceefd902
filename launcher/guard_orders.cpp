#include "launcher/guard_orders.hpp"

#include <algorithm>

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

/// Returns this machine's time in seconds since 1970.
std::int64_t our_now_s() {
  return std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
}

/// Returns the least lead of a clock that showed `sent` at some time between `asked` and `heard`.
std::int64_t least_lead(std::int64_t sent, std::int64_t asked, std::int64_t heard) {
  return sent - std::clamp(sent, asked, std::max(asked, heard));
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

agent::NodeWatch by_our_clock(agent::NodeWatch watch, std::int64_t asked, std::int64_t heard) {
  const std::int64_t lead = watch.sent ? least_lead(*watch.sent, asked, heard) : 0;
  const auto correct = [lead](std::int64_t& time) {
    if (time != 0) time -= lead;
  };
  correct(watch.looked);
  correct(watch.idle_since);
  correct(watch.powers_off);
  for (agent::Waking& waking : watch.wakings) {
    correct(waking.since);
    correct(waking.last);
  }
  return watch;
}

std::vector<HostResult<agent::NodeWatch>> watch_nodes(ssh::Client& client,
                                                      std::span<const ssh::Host> hosts,
                                                      const remote::AgentProgram& agent,
                                                      const Cancel& cancel,
                                                      std::chrono::milliseconds timeout) {
  std::vector<HostResult<agent::NodeWatch>> watches;
  const std::int64_t asked = our_now_s();
  const auto answers = call_all(client, hosts, "guard-show", "", agent, cancel, timeout);
  const std::int64_t heard = our_now_s();
  for (const NodeAnswer& answer : answers)
    watches.push_back({answer.result.host,
                       attempt([&] { return by_our_clock(watch_in(answer), asked, heard); })});
  return watches;
}

}  // namespace fastgpu::launcher
