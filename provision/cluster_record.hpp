// What a cluster's head node keeps of it, so that another machine can take the cluster over: all
// that cannot be read from the cloud, and nothing secret.
#pragma once

#include <string>
#include <vector>

#include "state/model.hpp"

namespace fastgpu::provision {

struct ClusterRecord {
  state::Cluster cluster{};
  /// With their host keys; states, addresses and machines are the cloud's to tell.
  std::vector<state::Node> nodes{};
  std::vector<state::Run> runs{};  ///< What the cluster has cost so far comes from them.
};

constexpr std::size_t kLargestRecord = 8UL << 20U;

/// JSON, {"schema": "fastgpu/cluster-record/v1", ...}.
std::string to_text(const ClusterRecord& record);

/// Throws ErrorKind::remote, saying what of it is wrong, for all that to_text does not write.
ClusterRecord parse_cluster_record(const std::string& text);

}  // namespace fastgpu::provision
