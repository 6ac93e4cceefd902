// One cluster, node or job in full, for people. Programs get the documents of views.hpp.
#pragma once

#include "cli/commands/show/views.hpp"

namespace fastgpu::cli {

/// Returns the cluster in sections: its machines, network, storage, cost, guards and nodes, and
/// those of `jobs` that have not ended. Empty values have no line.
Json description_of(const ClusterAndNodes& shown, std::span<const state::Job> jobs,
                    std::size_t open_intents, state::TimePoint now);

/// Returns a node of `shown`, with its machine and its cost.
Json description_of(const state::Node& node, const ClusterAndNodes& shown, state::TimePoint now);

/// Returns the job with its times, its ranks by node, and the place of its logs.
Json description_of(const JobAndCluster& shown, state::TimePoint now);

/// Returns the duration of the job, or its time so far.
std::chrono::seconds duration_of(const state::Job& job, state::TimePoint now);

/// Returns "~/.fastgpu/jobs/train-1 on demo-[0-1]".
std::string place_of_logs(const state::Job& job);

/// Returns the node's cost so far, or null if the price is unknown.
std::optional<Money> cost_of(const GuardStatus& standing, const state::Node& node,
                             state::TimePoint now);

}  // namespace fastgpu::cli
