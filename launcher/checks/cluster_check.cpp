#include "launcher/checks/cluster_check.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include "base/quote.hpp"
#include "base/random.hpp"
#include "launcher/network.hpp"
#include "remote/agent_call.hpp"

namespace fastgpu::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;
using namespace std::chrono_literals;

constexpr milliseconds kScriptLimit = 90s;
constexpr milliseconds kFactsLimit = 30s;
constexpr std::size_t kMostOutput = 1UL << 20U;
constexpr std::size_t kCandidatePorts = 3;

/// The answer of one host to one command, as it arrives.
struct Reply {
  std::string out{};
  std::string err{};
  std::optional<milliseconds> clock_ahead{};  ///< The clock of the host minus ours.
};

void keep_some(std::string& text, std::string_view piece) {
  text += piece.substr(0, kMostOutput - std::min(kMostOutput, text.size()));
}

ssh::Task task_with_input(const ssh::Host& host, std::string command, std::string input,
                          Reply& reply) {
  reply = Reply();
  ssh::Task task{.host = host, .command = std::move(command)};
  task.on_stdout = [&reply](std::string_view piece) {
    keep_some(reply.out, piece);
    if (reply.clock_ahead) return;
    if (const auto time = node_time_in(reply.out))
      reply.clock_ahead = std::chrono::round<milliseconds>(*time - system_clock::now());
  };
  task.on_stderr = [&reply](std::string_view piece) { keep_some(reply.err, piece); };
  if (!input.empty())
    task.next_input = [rest = std::optional(std::move(input))]() mutable {
      return std::exchange(rest, std::nullopt);
    };
  return task;
}

ssh::RunOptions at_once(std::size_t nodes, milliseconds limit) {
  ssh::RunOptions options;
  options.width = static_cast<int>(std::max<std::size_t>(1, nodes));
  options.timeout = limit;
  options.keeps_connections = true;
  return options;
}

/// Nodes may be on one machine, so that each gets ports of its own.
std::vector<std::uint16_t> random_ports() {
  std::random_device random;
  std::uniform_int_distribution<int> numbers(32'768, 60'999);
  std::vector<std::uint16_t> ports;
  while (ports.size() < kCandidatePorts) {
    const auto port = static_cast<std::uint16_t>(numbers(random));
    if (std::ranges::find(ports, port) == ports.end()) ports.push_back(port);
  }
  return ports;
}

/// Throws the error of a command that did not succeed.
void require_success(const Outcome<ssh::Exit>& exit, const Reply& reply) {
  const int code = exit.value().code();
  if (code == 0) return;
  const std::string line = reply.err.substr(0, reply.err.find('\n'));
  throw Error(ErrorKind::remote,
              line.empty() ? "exit status " + std::to_string(code) : printable(line, 200));
}

void run_scripts(ssh::Client& client, std::span<const ClusterNode> nodes,
                 std::vector<CheckedNode>& checked, const Cancel& cancel) {
  std::vector<Reply> replies(nodes.size());
  std::vector<ssh::Task> tasks;
  const std::string command = shell_join(std::vector<std::string>{"exec", "sh", "-s", "--", ""});
  for (std::size_t i = 0; i < nodes.size(); ++i)
    tasks.push_back(
        task_with_input(nodes[i].host, command, std::string(check_script()), replies[i]));
  const auto ended = client.run(std::move(tasks), at_once(nodes.size(), kScriptLimit), cancel);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    checked[i].state = attempt([&] {
      require_success(ended[i].outcome, replies[i]);
      return parse_node_health(replies[i].out);
    });
    checked[i].clock_ahead = replies[i].clock_ahead.value_or(0ms);
  }
}

void ask_facts(ssh::Client& client, std::span<const ClusterNode> nodes,
               const remote::AgentProgram& agent, std::vector<CheckedNode>& checked,
               const Cancel& cancel) {
  std::vector<ssh::Host> hosts;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (checked[i].state.ok()) {
      hosts.push_back(nodes[i].host);
      places.push_back(i);
    }
  std::vector<Reply> replies(hosts.size());
  const std::vector<std::string> words = {"facts", "--mpirun"};
  const std::string command = remote::agent_command(agent.hash, words);
  const auto results = remote::call_agent(
      client, hosts, agent,
      [&](std::size_t i) { return task_with_input(hosts[i], command, "", replies[i]); },
      at_once(hosts.size(), kFactsLimit), cancel);
  for (std::size_t i = 0; i < hosts.size(); ++i)
    checked[places[i]].facts = attempt([&] {
      require_success(results[i].exit, replies[i]);
      return agent::parse_node_facts(replies[i].out);
    });
}

}  // namespace

std::vector<CheckedNode> check_nodes(ssh::Client& client, std::span<const ClusterNode> nodes,
                                     const remote::AgentProgram& agent, const Cancel& cancel) {
  std::vector<CheckedNode> checked;
  for (const ClusterNode& node : nodes)
    checked.push_back({.name = node.host.name});
  run_scripts(client, nodes, checked, cancel);
  ask_facts(client, nodes, agent, checked, cancel);
  cancel.check();
  return checked;
}

std::vector<LinkNode> linked_nodes(std::span<const ClusterNode> nodes,
                                   std::span<const CheckedNode> checked) {
  std::vector<LinkNode> links;
  std::vector<NodeAddresses> addresses;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!checked[i].state.ok() || !checked[i].facts.ok()) continue;
    links.push_back({.name = nodes[i].host.name, .address = nodes[i].peer.address});
    addresses.push_back({.known_as = nodes[i].peer.address,
                         .own = checked[i].facts.value().addresses,
                         .ssh_address = checked[i].facts.value().ssh_address});
  }
  for (LinkNode& link : links)
    link.ports = random_ports();
  const auto joining = joining_addresses(addresses);
  for (std::size_t i = 0; i < joining.size(); ++i)
    links[i].address = joining[i];
  return links;
}

LinkProbeRequest new_link_probe() {
  return {.secret = random_hex(16)};
}

LinkAnswers probe_links(ssh::Client& client, std::span<const ClusterNode> nodes,
                        std::span<const LinkNode> links, const LinkProbeRequest& request,
                        const remote::AgentProgram& agent, const Cancel& cancel) {
  const auto plans = link_plans(links, request);
  std::vector<ssh::Host> hosts;
  for (const LinkNode& link : links)
    for (const ClusterNode& node : nodes)
      if (node.host.name == link.name) hosts.push_back(node.host);
  std::vector<Reply> replies(hosts.size());
  const std::vector<std::string> words = {"probe-links"};
  const std::string command = remote::agent_command(agent.hash, words);
  const auto results = remote::call_agent(
      client, hosts, agent,
      [&](std::size_t i) {
        return task_with_input(hosts[i], command, to_text(plans[i]), replies[i]);
      },
      at_once(hosts.size(), link_limit(request)), cancel);
  cancel.check();
  LinkAnswers answers;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    answers.push_back(attempt([&] {
      require_success(results[i].exit, replies[i]);
      return agent::parse_link_answer(replies[i].out);
    }));
  return answers;
}

}  // namespace fastgpu::launcher
