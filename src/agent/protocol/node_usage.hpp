// How busy a node is: processor, memory, network and GPUs, from what it has counted. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace fastgpu::agent {

struct GpuUsage {
  int index = 0;
  std::optional<int> percent{};  ///< The time in which the GPU computed; absent if it cannot say.
  Bytes memory_used{};
  Bytes memory{};
};

/// What a node has counted since its start, and what it uses now.
struct UsageCounters {
  double uptime = 0;             ///< Seconds.
  std::uint64_t busy_ticks = 0;  ///< The time of all cores.
  std::uint64_t all_ticks = 0;
  Bytes memory_available{};
  Bytes memory{};
  Bytes received{};  ///< The sum of interfaces that have a device; of all but loopback if none has.
  Bytes sent{};
  std::vector<GpuUsage> gpus{};
  bool is_gpu_tool_silent = false;  ///< nvidia-smi does not answer.
};

/// Reads the output of templates/nodes/read_usage.sh. Throws ErrorKind::remote for anything else.
UsageCounters parse_usage(std::string_view text);

/// How busy a node was between two readings.
struct NodeUsage {
  double busy = 0;  ///< The share of all cores, 0 to 1.
  Bytes memory_used{};
  Bytes memory{};
  Bytes received_each_second{};
  Bytes sent_each_second{};
  std::vector<GpuUsage> gpus{};
  bool is_gpu_tool_silent = false;  ///< nvidia-smi does not answer: the GPUs are unknown.
};

/// Returns the usage between two readings of one node. Counters that went back, because the node
/// was restarted in between, count from 0.
NodeUsage usage_between(const UsageCounters& before, const UsageCounters& after);

}  // namespace fastgpu::agent
