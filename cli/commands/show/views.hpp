// Clusters, nodes and jobs for the user.
#pragma once

#include <span>
#include <vector>

#include "cli/ui/view.hpp"
#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/spot_notices.hpp"
#include "provision/storage.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

struct ClusterAndNodes {
  state::Cluster cluster;
  std::vector<state::Node> nodes;
  GuardStatus standing{};
  std::vector<Notice> notices{};
};

Json to_json(const state::Cluster& cluster);
Json to_json(const state::Node& node);
Json to_json(const state::Job& job);
/// Returns a node's own time, in seconds since 1970; null for 0.
Json time_json(std::int64_t seconds);

/// Returns a cluster with its cost per hour, its cost so far, and the time of its own end.
Json cluster_fields(const ClusterAndNodes& shown);

/// Returns the type, the place and the hourly price of each machine of the cluster while it runs;
/// null if it is not a cloud's.
Json machine_fields(const state::Cluster& cluster);

/// Returns the nodes' storage beside their system disk.
Json storage_fields(const provision::DataDisk& disk, std::span<const provision::Mount> mounts);

/// Returns the guards, the cost and the end.
Json guard_fields(const GuardStatus& standing);

std::string_view cause_word(provision::EndCause cause);  ///< Returns "max-life", "idle-delete".
std::string cost_text(const GuardStatus& standing);      ///< Returns "12.30 USD", "0", "?".

View view_of(std::span<const ClusterAndNodes> clusters, state::TimePoint now);
/// Returns all nodes of all `clusters`.
View view_of_nodes(std::span<const ClusterAndNodes> clusters);

/// A job with the name of its cluster, which may be gone.
struct JobAndCluster {
  state::Job job;
  std::string cluster;
};
View view_of(std::span<const JobAndCluster> jobs, state::TimePoint now);

/// Returns the document of one cluster, node or job. People see its `described`.
View view_of_one(std::string_view kind, const Json& fields, std::string name);

}  // namespace fastgpu::cli
