// The record of a cluster on its head node, by which another machine can take the cluster over. It
// has all data that cannot be read from the cloud, and no secret.
#pragma once

#include <string>
#include <vector>

#include "state/model.hpp"

namespace fastgpu::provision {

struct ClusterRecord {
  state::Cluster cluster{};
  /// The nodes with their host keys; states, addresses and machines come from the cloud.
  std::vector<state::Node> nodes{};
  std::vector<state::Run> runs{};  ///< The runs, which decide the cluster's costs so far.
};

constexpr std::size_t kLargestRecord = 8UL << 20U;

/// Returns JSON, {"schema": "fastgpu/cluster-record/v1", ...}.
std::string to_text(const ClusterRecord& record);

/// Parses a record. Throws ErrorKind::remote, with the reason, for text that to_text cannot have
/// written.
ClusterRecord parse_cluster_record(const std::string& text);

}  // namespace fastgpu::provision
