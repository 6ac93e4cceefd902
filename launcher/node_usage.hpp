// How busy the nodes of a cluster are.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "agent/protocol/node_usage.hpp"
#include "agent/protocol/samples.hpp"
#include "base/cancel.hpp"
#include "base/host_result.hpp"
#include "ssh/client.hpp"

namespace fastgpu::launcher {

using agent::GpuUsage;
using agent::halved;
using agent::JobUsage;
using agent::NodeUsage;
using agent::parse_job_usage;
using agent::parse_usage;
using agent::usage_between;
using agent::UsageCounters;
using agent::UsageSample;

/// Reads the counters of nodes.
std::vector<HostResult<UsageCounters>> read_usage(ssh::Client& client,
                                                  std::span<const ssh::Host> hosts,
                                                  std::chrono::milliseconds timeout,
                                                  const Cancel& cancel);

}  // namespace fastgpu::launcher
