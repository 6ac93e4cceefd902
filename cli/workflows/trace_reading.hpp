// Reads the ends of the timelines of a job from its nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/workflows/comm_trace.hpp"
#include "cli/workflows/job_access.hpp"
#include "cli/workflows/usage_evidence.hpp"

namespace fastgpu::cli {

/// The parts of timelines to read: the last `bytes` of each file, so that they have about the same
/// steps.
struct TracePlan {
  struct Node {
    std::string node{};
    std::vector<int> ranks{};
  };
  std::size_t bytes = 0;
  std::vector<Node> nodes{};
  std::size_t left_out = 0;  ///< The timelines that are not read, because there are too many.
};

/// Returns 512 KiB of each timeline, or less, to 64 KiB, of more than 32 of them; of more than 256
/// those of the lowest ranks. Two nodes that share a folder both have the timelines in it: those of
/// the first node are read.
TracePlan plan_of_traces(std::span<const UsageEvidence> usage);

/// The timelines of a job, sorted by rank.
struct TracesRead {
  std::vector<RankTrace> traces{};
  std::size_t left_out = 0;            ///< The timelines that were not read: there were too many.
  std::vector<std::string> missing{};  ///< Why a part is missing, a sentence each.
};

/// Asks the nodes for the timelines that they have named. Throws interrupted alone.
TracesRead read_traces(Services& services, const OpenJob& open, std::span<const ssh::Host> hosts,
                       std::span<const UsageEvidence> usage);

}  // namespace fastgpu::cli
