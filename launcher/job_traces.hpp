// The timelines of libfastgpu_comm that a job has left on its nodes.
#pragma once

#include <vector>

#include "agent/protocol/trace_end.hpp"
#include "launcher/fan_out.hpp"

namespace fastgpu::launcher {

/// Returns the ends of timelines in a node's answer to `job-traces`. Throws the error of the node,
/// and remote for an answer that makes no sense.
std::vector<agent::TraceEnd> trace_ends(const NodeAnswer& answer);

}  // namespace fastgpu::launcher
