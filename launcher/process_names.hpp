// Names for the processes of a job. With torchrun those that fastgpu starts are no ranks of the
// program: each is a torchrun, whose number is its node's, and which starts workers. Pure.
#pragma once

#include <set>
#include <span>
#include <string>

#include "launcher/job.hpp"

namespace fastgpu::launcher {

/// Returns the node that runs `rank`.
NodeName node_of(std::span<const NodeRanks> placement, int rank);

/// Returns ranks as text: "0-3, 7".
std::string rank_list(const std::set<int>& ranks);

/// Returns true if each process of the placement is a torchrun.
bool is_of_torchrun(std::span<const NodeRanks> placement);

/// Returns "rank 3 on demo-1", or "torchrun on demo-1".
std::string process_on_node(std::span<const NodeRanks> placement, int rank);

/// Returns "rank 3" and "ranks 0-2, 4", or "torchrun on demo-0, demo-1".
std::string processes_text(std::span<const NodeRanks> placement, const std::set<int>& ranks);

/// Returns the number of ranks of the program; with torchrun, that of its workers.
int program_ranks(std::span<const NodeRanks> placement);

/// Returns "4 ranks", or "4 workers".
std::string size_text(std::span<const NodeRanks> placement);

/// Returns the ranks of the program on the node at `index`: "2-3", or "2" for one. Those of workers
/// are the ones that torchrun gives them.
std::string ranks_of_node(std::span<const NodeRanks> placement, std::size_t index);

}  // namespace fastgpu::launcher
