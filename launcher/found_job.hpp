// Jobs that another machine has started, found on the nodes of their cluster.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "agent/protocol/found_job.hpp"
#include "base/cancel.hpp"
#include "base/names.hpp"
#include "launcher/job.hpp"
#include "remote/agent.hpp"
#include "ssh/client.hpp"

namespace fastgpu::launcher {

/// The answer of a node that was asked for a job.
struct NodeWithJob {
  NodeName node;
  std::optional<agent::FoundJob> job{};  ///< Absent if the node has no part of it.
};

/// Puts the parts of a job together. The record is that of a detached job: the machine that started
/// it goes on caring for its lease. Throws not_found if no node has the job, and remote if the
/// nodes contradict each other or a part is missing. Pure.
JobRecord record_of_found(const std::string& id, std::span<const NodeWithJob> nodes);

/// Asks the nodes for the job, and puts it together. Throws transient, naming the node, if one does
/// not answer.
JobRecord find_on_nodes(ssh::Client& client, std::span<const ssh::Host> hosts,
                        const remote::AgentProgram& agent, const std::string& id,
                        const Cancel& cancel);

}  // namespace fastgpu::launcher
