#include "launcher/job_trial.hpp"

#include <vector>

#include "launcher/fan_out.hpp"
#include "launcher/job_files.hpp"
#include "launcher/node_commands.hpp"
#include "launcher/reach.hpp"
#include "launcher/slow_network.hpp"
#include "launcher/start_answers.hpp"

namespace fastgpu::launcher {
namespace {

/// Lets the nodes of the job try to reach each other. Throws ErrorKind::remote if some do not.
void try_network(ssh::Client& client, const ClusterNodes& nodes, const NodeCommands& on_node,
                 const JobFilesRequest& request, std::span<const agent::JobNodeFacts> facts,
                 const Cancel& cancel) {
  std::vector<NodeTask> tasks;
  std::vector<ReachAnswer> reached;
  for (const ReachRequest& asked : reach_requests(request, facts)) {
    tasks.push_back({.host = nodes.at(request.nodes[asked.place].ranks.node).host,
                     .command = on_node.reach(asked.words)});
    reached.push_back({.place = asked.place});
  }
  const auto answers = ask(client, tasks, kStartTimeout, cancel);
  check(answers, "trying the network of job " + request.spec.name.value);
  for (std::size_t i = 0; i < answers.size(); ++i)
    reached[i].text = answers[i].out;
  check_reach(request, facts, reached);
}

}  // namespace

std::optional<JobOutcome> try_on_nodes(ssh::Client& client, const ClusterNodes& nodes,
                                       const RunnerOptions& options, const JobFilesRequest& request,
                                       const Cancel& cancel) {
  const NodeCommands on_node(options.agent.hash, request.id);
  std::vector<NodeTask> tasks;
  for (const JobNode& member : request.nodes)
    tasks.push_back(
        {.host = nodes.at(member.ranks.node).host, .command = on_node.trial_facts(request.spec)});
  const auto answers = ask_agent(client, tasks, options.agent, kStartTimeout, cancel);
  if (auto outcome = never_begun(answers)) return outcome;
  check(answers, "trying job " + request.spec.name.value);
  const std::vector<agent::JobNodeFacts> facts = facts_in(answers);
  start_files(request, facts, on_node);  // Throws where a launcher is missing or unknown.
  check_fabric(request, facts);
  if (options.network_check == NetworkCheck::on)
    try_network(client, nodes, on_node, request, facts, cancel);
  return std::nullopt;
}

}  // namespace fastgpu::launcher
