// The effects of nodes that have left the cluster on a job that was there. Pure.
#pragma once

#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/names.hpp"
#include "launcher/job_outcome.hpp"

namespace fastgpu::launcher {

/// Returns the outcome of a job whose first node, the one that knows its end, has left the cluster.
/// `nodes` are all nodes of the job that have.
JobOutcome outcome_without(const std::vector<NodeName>& nodes);

/// Returns the error of a reader of the job's output, which is missing from these nodes.
Error output_missing_from(std::span<const NodeName> nodes);

}  // namespace fastgpu::launcher
