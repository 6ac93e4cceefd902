// The number of ranks of each node. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launcher/job.hpp"

namespace fastgpu::launcher {

/// Places ranks in the order of `nodes`: the first node is filled before the second begins. With
/// --npernode no node gets more than that; without -np every slot (or npernode of each node) is
/// taken. If crowding is allowed, ranks beyond the slots are dealt out one by one. Nodes without
/// ranks are left out. Throws ErrorKind::usage, with the possible numbers, if it does not fit.
std::vector<NodeRanks> place(std::span<const NodeSlots> nodes, const JobSpec& spec);

int total_ranks(std::span<const NodeRanks> placement);

/// Throws ErrorKind::usage, with the ranks that there are, if job `id` does not have this one.
void require_rank(const std::string& id, std::span<const NodeRanks> placement, int rank);

}  // namespace fastgpu::launcher
