// The nodes that have the logs which a request asks for. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launcher/job_engine.hpp"
#include "launcher/placement.hpp"

namespace fastgpu::launcher {

/// Returns the part of a job's placement that is read for the request. A request that follows one
/// rank also reads the first node, which knows when the job has ended. Throws ErrorKind::usage for
/// a rank that the job does not have.
std::vector<NodeRanks> nodes_with_logs(const std::string& id, std::span<const NodeRanks> placement,
                                       const LogRequest& request);

}  // namespace fastgpu::launcher
