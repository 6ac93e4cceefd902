// The meaning of the nodes' answers to a job that is tried or prepared. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "agent/protocol/facts.hpp"
#include "base/names.hpp"
#include "launcher/fan_out.hpp"
#include "launcher/job_outcome.hpp"

namespace fastgpu::launcher {

/// Returns the outcome of ranks that cannot begin on a node, as the agent's trial there has it: the
/// exit code is that of the ranks themselves. Absent if the answers have no such reason.
std::optional<JobOutcome> never_begun(std::span<const NodeAnswer> answers);

/// Returns a node that has a job of the same id already; absent if none has.
std::optional<NodeName> node_with_same_id(std::span<const NodeAnswer> answers);

/// Returns true if nodes of the job share a home directory.
bool share_home(std::span<const NodeAnswer> answers);

/// Returns true if the node cannot be reached, or the connection to it was lost.
bool is_silent(const NodeAnswer& answer);

/// Returns the nodes that are silent.
std::vector<NodeName> silent_nodes(std::span<const NodeAnswer> answers);

/// Returns the nodes that have done what was asked.
std::vector<NodeName> prepared_nodes(std::span<const NodeAnswer> answers);

/// Returns the facts in successful answers, in their order.
std::vector<agent::JobNodeFacts> facts_in(std::span<const NodeAnswer> answers);

}  // namespace fastgpu::launcher
