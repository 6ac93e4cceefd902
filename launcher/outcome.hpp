// What a job came to, from what is known of its parts. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/protocol/status.hpp"
#include "base/names.hpp"
#include "launcher/job.hpp"
#include "state/model.hpp"

namespace fastgpu::launcher {

struct LostNode {
  NodeName node;
  std::string why;
};

/// All that was seen of a job.
struct JobReport {
  std::vector<NodeRanks> placement{};
  std::vector<agent::RankEnd> ranks{};      ///< Those that ended and could say so.
  std::optional<agent::JobEnd> launcher{};  ///< Absent: not known, for instance with its node lost.
  std::string launcher_tail{};              ///< The end of what mpirun wrote to stderr.
  std::vector<LostNode> lost{};
  bool cancelled = false;  ///< By us.
  std::chrono::milliseconds lease{0};
  std::chrono::milliseconds timeout{0};
};

struct Outcome {
  state::JobState state = state::JobState::succeeded;
  int exit_code = 0;
  std::string reason{};             ///< One sentence; empty where all went well.
  std::optional<int> first_rank{};  ///< The rank that failed first by itself.
};

/// The exit code is that of the rank that failed first by itself, by the clocks of the nodes: ranks
/// that ended after they were told to are collateral. 124 for a time-out, 130 for a cancel, 1 where
/// the cause is not the program.
Outcome decide(const JobReport& report);

/// The node that runs `rank`.
NodeName node_of(std::span<const NodeRanks> placement, int rank);

}  // namespace fastgpu::launcher
