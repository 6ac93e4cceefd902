// The views of clusters and nodes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rdma_devices.hpp"
#include "cli/ui/view.hpp"
#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/spot_notices.hpp"
#include "launcher/binding.hpp"
#include "provision/storage.hpp"
#include "state/model.hpp"
#include "state/silence.hpp"

namespace fastgpu::cli {

struct ClusterAndNodes {
  state::Cluster cluster;
  std::vector<state::Node> nodes;
  GuardStatus status{};
  std::vector<Notice> notices{};
  std::string owner{};  ///< See provision::ClusterView.
  /// The running nodes that have not answered.
  std::map<NodeName, state::Silence> silences{};

  /// Returns the note on a node that has not answered; null for any other.
  const state::Silence* silence_of(const state::Node& node) const;
};

/// Returns the state of a node: "unreachable" for a running one that has not answered.
std::string_view state_word(const ClusterAndNodes& shown, const state::Node& node);

/// Returns the number of nodes that run and answer.
std::size_t running_nodes_of(const ClusterAndNodes& shown);

/// Returns since when a node has not answered, and why; null for any other.
Json silence_fields(const ClusterAndNodes& shown, const state::Node& node);

/// The report of a running node about its devices.
struct NodeReport {
  std::string failure{};  ///< Why the node has reported nothing; empty if it has.
  /// The obstacle to the use of its devices, and the remedy; empty without one.
  std::string obstacle{};
  std::vector<RdmaPort> ports{};
  std::optional<agent::MachineTopology> topology{};  ///< Absent if it is unknown.
};

/// Returns the RDMA ports of a node; null if it does not run or has not reported.
Json rdma_fields(const std::optional<NodeReport>& report);

/// Returns the GPUs of a node and the NVLinks between them; null if they are unknown.
Json gpu_fields(const std::optional<NodeReport>& report);

Json to_json(const state::Cluster& cluster);
Json to_json(const state::Node& node);
/// Returns a time that a node has reported, in seconds since 1970; null for 0.
Json time_json(std::int64_t seconds);

/// Returns the fields of a cluster, with its cost per hour, its cost so far, and the time at which
/// its guards end it.
Json cluster_fields(const ClusterAndNodes& shown);

/// Returns the type, the place and the price per hour of the cluster's machines. Outside clouds all
/// fields except the price are null.
Json machine_fields(const state::Cluster& cluster);

/// Returns the storage of the nodes in addition to the system disk.
Json storage_fields(const provision::DataDisk& disk, std::span<const provision::Mount> mounts);

/// Returns the guards, the cost so far and the end.
Json guard_fields(const GuardStatus& status);

/// Returns the guard's option: "max-life", "idle-delete".
std::string_view cause_word(provision::EndCause cause);
std::string cost_text(const GuardStatus& status);  ///< Returns "12.30 USD", "0" or "?".

View view_of(std::span<const ClusterAndNodes> clusters, state::TimePoint now);
/// Returns a view of the nodes of all `clusters`.
View view_of_nodes(std::span<const ClusterAndNodes> clusters);

/// Returns the view of one cluster, node or job. Its `described` part is for people.
View view_of_one(std::string_view kind, const Json& fields, std::string name);

}  // namespace fastgpu::cli
