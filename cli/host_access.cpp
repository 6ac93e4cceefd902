#include "cli/host_access.hpp"

#include "launcher/fan_out.hpp"

namespace fastgpu::cli {
namespace {

using provision::Granted;
using provision::HostDoor;
using Outcomes = provision::HostAccess::Outcomes;

constexpr std::chrono::milliseconds kPatience{60'000};

/// The agent's exit status for what the host does not allow.
constexpr int kDenied = 126;

HostResult<Granted> outcome_of(const launcher::NodeAnswer& answer) {
  const NodeName& host = answer.result.host;
  if (!answer.result.ok()) return {host, answer.result.error()};
  const int code = answer.result.value().code();
  if (code == 0) return {host, Granted{}};
  std::string said = answer.err.substr(0, answer.err.find('\n'));
  if (said.empty()) said = "the agent ended with " + std::to_string(code);
  return {host,
          Error(code == kDenied ? ErrorKind::denied : ErrorKind::remote, host.value + ": " + said)};
}

/// Another key would change nothing.
bool is_passing(ErrorKind kind) {
  return kind == ErrorKind::transient || kind == ErrorKind::timeout;
}

}  // namespace

Outcomes SshHostAccess::check(const state::Cluster& /*cluster*/, std::span<const HostDoor> doors,
                              const Cancel& cancel) {
  return call_as_user(
      doors, [](const HostDoor&) { return std::vector<std::string>{"access-check"}; }, cancel);
}

Outcomes SshHostAccess::open(const state::Cluster& /*cluster*/, std::span<const HostDoor> doors,
                             const std::string& public_key, const Cancel& cancel) {
  const auto words = [&](const HostDoor& door) {
    return std::vector<std::string>{"access-add", public_key + " " + door.mark};
  };
  return call_as_user(doors, words, cancel);
}

Outcomes SshHostAccess::close(const state::Cluster& cluster, std::span<const HostDoor> doors) {
  const auto words = [&](const HostDoor& door) {
    return std::vector<std::string>{"access-remove", door.mark, cluster.id.value};
  };
  const auto with_cluster_key = [&](const HostDoor& door) {
    return to_host(context_.store(), cluster, door.node);
  };
  const Cancel never;  // Taking back what was done is what a cancel asks for.
  Outcomes outcomes = call(doors, with_cluster_key, words, never);
  // Where our key opens nothing, it was taken out already, or never put in.
  std::vector<HostDoor> shut;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].ok() || is_passing(outcomes[i].error().kind())) continue;
    shut.push_back(doors[i]);
    places.push_back(i);
  }
  const Outcomes again = call_as_user(shut, words, never);
  for (std::size_t i = 0; i < again.size(); ++i)
    outcomes[places[i]] = again[i];
  return outcomes;
}

Outcomes SshHostAccess::call_as_user(std::span<const HostDoor> doors, const Words& words,
                                     const Cancel& cancel) {
  const auto with_own_key = [this](const HostDoor& door) {
    ssh::Host host = to_host(context_.store(), {}, door.node);
    host.identity = door.node.identity_file;
    return host;
  };
  return call(doors, with_own_key, words, cancel);
}

Outcomes SshHostAccess::call(std::span<const HostDoor> doors, const Key& key, const Words& words,
                             const Cancel& cancel) {
  if (doors.empty()) return {};
  const remote::AgentProgram& agent = context_.agent();
  std::vector<launcher::NodeTask> tasks;
  for (const HostDoor& door : doors)
    tasks.push_back({.host = key(door), .command = remote::agent_command(agent.hash, words(door))});
  Outcomes outcomes;
  for (const auto& answer : launcher::ask_agent(context_.ssh(), tasks, agent, kPatience, cancel))
    outcomes.push_back(outcome_of(answer));
  return outcomes;
}

}  // namespace fastgpu::cli
