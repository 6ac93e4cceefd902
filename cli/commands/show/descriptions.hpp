// Full descriptions of clusters and nodes for people. Programs get the documents of
// views.hpp.
#pragma once

#include <optional>

#include "cli/commands/show/views.hpp"

namespace fastgpu::cli {

/// The changes of a cluster that are still open.
struct OpenChanges {
  std::size_t unfinished = 0;  ///< The changes in progress, or interrupted.
  /// The machines that were given up before the cloud had listed them.
  std::size_t late_machines = 0;
  std::size_t unmet_nodes = 0;  ///< The nodes that were requested and not reached yet.
};

/// Returns the sections on a cluster: its machines, network, storage, cost, guards, nodes, and
/// those of `jobs` that have not ended. Empty values are left out.
Json description_of(const ClusterAndNodes& shown, std::span<const state::Job> jobs,
                    const OpenChanges& open, state::TimePoint now);

/// Returns the description of one node of `shown`, with its machine, its cost, and the RDMA devices
/// that it has reported; `report` is absent if the node was not asked.
Json description_of(const state::Node& node, const ClusterAndNodes& shown,
                    const std::optional<NodeReport>& report, state::TimePoint now);

/// Returns the cost of the node so far; absent if the price is unknown.
std::optional<Money> cost_of(const GuardStatus& status, const state::Node& node,
                             state::TimePoint now);

}  // namespace fastgpu::cli
