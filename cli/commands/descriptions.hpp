// One cluster, node or job in full, as people read it. Programs get the documents of views.hpp.
#pragma once

#include "cli/commands/views.hpp"

namespace fastgpu::cli {

/// Returns the cluster in sections: its machines, network, storage, cost, guards and nodes, and
/// those of `jobs` that have not ended. What is empty has no line.
Json description_of(const ClusterAndNodes& shown, std::span<const state::Job> jobs,
                    std::size_t open_intents, state::TimePoint now);

/// Returns a node of `shown`, with what its machine is and has cost.
Json description_of(const state::Node& node, const ClusterAndNodes& shown, state::TimePoint now);

/// Returns the job with its times, its ranks by node, and the place of its logs.
Json description_of(const JobAndCluster& shown, state::TimePoint now);

/// Returns how long the job has run, or runs.
std::chrono::seconds duration_of(const state::Job& job, state::TimePoint now);

/// Returns "~/.fastgpu/jobs/train-1 on demo-[0-1]".
std::string place_of_logs(const state::Job& job);

/// Returns what the node has cost, or null where the price is unknown.
std::optional<Money> cost_of(const Standing& standing, const state::Node& node,
                             state::TimePoint now);

}  // namespace fastgpu::cli
