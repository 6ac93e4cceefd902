#include "launcher/found_job.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "agent/protocol/exit_codes.hpp"
#include "agent/protocol/plan.hpp"
#include "base/error.hpp"
#include "launcher/fan_out.hpp"
#include "launcher/node_commands.hpp"

namespace fastgpu::launcher {
namespace {

constexpr std::chrono::seconds kAnswer{30};

using Parts = std::vector<const NodeWithJob*>;

[[noreturn]] void refuse_found(const std::string& id, const std::string& why) {
  throw Error(ErrorKind::remote, "job " + id + ": " + why);
}

/// Returns the nodes that have a part of the job's last run, in the order of their ranks.
Parts parts_of_job(const std::string& id, std::span<const NodeWithJob> nodes) {
  int restarts = 0;
  for (const NodeWithJob& node : nodes)
    if (node.job) restarts = std::max(restarts, node.job->restarts);
  Parts parts;
  for (const NodeWithJob& node : nodes) {
    if (!node.job || node.job->restarts != restarts) continue;
    if (node.job->ranks.ranks.empty()) refuse_found(id, node.node.value + " has no ranks of it");
    parts.push_back(&node);
  }
  if (parts.empty()) throw Error(ErrorKind::not_found, "no node has a job '" + id + "'");
  std::ranges::sort(parts, {},
                    [](const NodeWithJob* part) { return part->job->ranks.ranks.front(); });
  return parts;
}

/// Returns where the ranks are. Throws if one of them is nowhere, or in two places.
std::vector<NodeRanks> placement_of(const std::string& id, const Parts& parts) {
  std::vector<NodeRanks> placement;
  int next = 0;
  for (const NodeWithJob* part : parts) {
    const agent::JobPlan& plan = part->job->ranks;
    const int count = static_cast<int>(plan.ranks.size());
    for (int i = 0; i < count; ++i)
      if (plan.ranks[static_cast<std::size_t>(i)] != next + i)
        refuse_found(id, "rank " + std::to_string(next + i) + " is on no node of the cluster");
    placement.push_back(
        {.node = part->node, .first = next, .count = count, .cpus = plan.cpus, .gpus = plan.gpus});
    next += count;
  }
  const int size = parts.front()->job->ranks.world_size;
  if (next != size)
    refuse_found(id, "rank " + std::to_string(next) + " of " + std::to_string(size) +
                         " is on no node of the cluster");
  if (!parts.front()->job->is_head)
    refuse_found(id, parts.front()->node.value + " has rank 0, and not the supervisor");
  return placement;
}

/// Returns the name in an id such as "train-3" or "sweep-1.7".
JobName name_in(const std::string& id) {
  return parse_job_name(id.substr(0, id.rfind('-')));
}

}  // namespace

JobRecord record_of_found(const std::string& id, std::span<const NodeWithJob> nodes) {
  const Parts parts = parts_of_job(id, nodes);
  JobRecord record{.spec = {.name = name_in(id), .argv = {}}, .placement = placement_of(id, parts)};
  const agent::FoundJob& head = *parts.front()->job;
  JobSpec& spec = record.spec;
  spec.argv = head.ranks.argv;
  spec.ranks = head.ranks.world_size;
  spec.directory = head.ranks.directory;
  spec.timeout = head.timeout;
  spec.grace = head.ranks.grace;
  spec.hang_timeout = head.ranks.hang_timeout;
  spec.checkpoints = head.ranks.checkpoints;
  spec.presence = Presence::detached;
  spec.launcher = head.is_plain               ? Launcher::plain
                  : head.ranks.starts_workers ? Launcher::torchrun
                                              : Launcher::mpirun;
  record.restarts = head.restarts;
  return record;
}

JobRecord find_on_nodes(ssh::Client& client, std::span<const ssh::Host> hosts,
                        const remote::AgentProgram& agent, const std::string& id,
                        const Cancel& cancel) {
  const NodeCommands commands(agent.hash, id);
  std::vector<NodeTask> tasks;
  for (const ssh::Host& host : hosts)
    tasks.push_back({.host = host, .command = commands.show()});
  const auto answers = ask_agent(client, tasks, agent, kAnswer, cancel);
  std::vector<NodeWithJob> nodes;
  for (const NodeAnswer& answer : answers) {
    NodeWithJob node{.node = answer.result.host};
    const bool has_none = answer.result.ok() && answer.result.value().code() == agent::kNotThere;
    if (!has_none) {
      const std::vector one = {answer};
      check(one, "looking for job " + id);
      node.job = agent::parse_found_job(answer.out);
    }
    nodes.push_back(std::move(node));
  }
  return record_of_found(id, nodes);
}

}  // namespace fastgpu::launcher
