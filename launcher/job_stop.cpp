#include "launcher/job_stop.hpp"

#include <utility>

#include "base/cancel.hpp"
#include "launcher/fan_out.hpp"

namespace fastgpu::launcher {
namespace {

/// The time that a node needs to end all of a job, in addition to the grace of its programs.
constexpr std::chrono::milliseconds kToStop{10'000};

}  // namespace

std::vector<HostResult<ssh::Exit>> stop_on_nodes(ssh::Client& client, const JobMembers& members,
                                                 const NodeName& head, const NodeCommands& commands,
                                                 const remote::AgentProgram& agent,
                                                 const StopLimits& limits) {
  std::vector<NodeTask> tasks;
  for (const ssh::Host& host : members.hosts)
    tasks.push_back(
        {.host = host, .command = host.name == head ? commands.stop() : commands.sweep()});
  // All nodes at once, so that every program has the same time: the first node stops mpirun, too.
  const Cancel never;
  std::vector<HostResult<ssh::Exit>> results;
  for (NodeAnswer& answer :
       ask_agent(client, tasks, agent, limits.reach + limits.grace + kToStop, never, limits.reach))
    results.push_back(confirmation(std::move(answer)));
  for (const NodeName& node : members.left)
    results.insert(node == head ? results.begin() : results.end(), {node, ssh::Exit{}});
  return results;
}

}  // namespace fastgpu::launcher
