// Clusters, nodes and jobs as the user sees them.
#pragma once

#include <span>
#include <vector>

#include "cli/guarding.hpp"
#include "cli/notices.hpp"
#include "cli/ui/view.hpp"
#include "provision/storage.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

struct ClusterAndNodes {
  state::Cluster cluster;
  std::vector<state::Node> nodes;
  Standing standing{};
  std::vector<Notice> notices{};
};

Json to_json(const state::Cluster& cluster);
Json to_json(const state::Node& node);
Json to_json(const state::Job& job);
/// A node's own time, in seconds since 1970; null for 0.
Json time_json(std::int64_t seconds);

/// A cluster with what it costs an hour now, what it has cost, and when it ends by itself.
Json cluster_fields(const ClusterAndNodes& shown);

/// What each machine of the cluster is, where, and what it costs an hour while it runs; null where
/// it is not a cloud's.
Json machine_fields(const state::Cluster& cluster);

/// What the nodes have beside their system disk.
Json storage_fields(const provision::DataDisk& disk, std::span<const provision::Mount> mounts);

/// The guards, the cost and the end.
Json guard_fields(const Standing& standing);

std::string_view cause_word(provision::EndCause cause);  ///< "max-life", "idle-delete"
std::string cost_text(const Standing& standing);         ///< "12.30 USD", "0", "?"

View view_of(std::span<const ClusterAndNodes> clusters, state::TimePoint now);
/// All nodes of all `clusters`.
View view_of_nodes(std::span<const ClusterAndNodes> clusters);

/// A job with the name of its cluster, which may be gone.
struct JobAndCluster {
  state::Job job;
  std::string cluster;
};
View view_of(std::span<const JobAndCluster> jobs, state::TimePoint now);

/// The document of one cluster, node or job. People are shown what its `described` is set to.
View view_of_one(std::string_view kind, const Json& fields, std::string name);

}  // namespace fastgpu::cli
