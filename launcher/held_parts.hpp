// The choice of cores and GPUs for the ranks of a job that begins, beside those that others hold.
// Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launcher/binding.hpp"
#include "launcher/ends_needed.hpp"
#include "launcher/job.hpp"

namespace fastgpu::launcher {

/// The parts of a node that a running job has for itself.
struct HeldParts {
  std::string job;
  NodeName node;
  std::vector<int> cpus{};  ///< Sorted.
  std::vector<int> gpus{};  ///< Sorted: their indexes in the order of the PCI bus.
};

/// Returns the parts that these ranks hold; the entry has no parts if the ranks share their node.
HeldParts parts_held_by(const std::string& job, const NodeRanks& ranks);

/// Gives the ranks of a job places that no job in `held` has, and writes their CPUs and GPUs into
/// the placement. `nodes` has every node of the placement. Each node takes
/// - of its own places, those that are free. GPUs are chosen by choose_gpus(), other places in
///   their order, and a GPU has the cores beside it that are free, or all of these,
/// - if there are too few, free places of other nodes that share its kernel,
/// - else places that jobs on those nodes hold, too.
/// If the node has fewer places than ranks, several ranks have the same, and all places must be
/// free. A job that shares takes free places first, and then those that other jobs hold.
///
/// Returns the jobs that hold what the ranks need. Then the placement has no CPUs and GPUs.
std::vector<std::string> bind_ranks(std::vector<NodeRanks>& placement,
                                    std::span<const NodeTopology> nodes, RankUnit unit,
                                    std::span<const HeldParts> held = {},
                                    Sharing sharing = Sharing::exclusive);

/// Returns how many of the `holders`, which bind_ranks() has returned, must end.
EndsNeeded part_ends_needed(const std::vector<NodeRanks>& placement,
                            std::span<const NodeTopology> nodes, RankUnit unit,
                            std::span<const HeldParts> held,
                            const std::vector<std::string>& holders);

}  // namespace fastgpu::launcher
