// The variable TF_CONFIG, from which TensorFlow's cluster resolver learns the addresses of all
// workers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fastgpu::agent {

inline constexpr const char* kTensorflowConfig = "TF_CONFIG";

/// A node with workers. Its address is an IP address or a host name.
struct TensorflowNode {
  std::string address;
  int ranks = 0;
  friend bool operator==(const TensorflowNode&, const TensorflowNode&) = default;
};

/// The places of the workers of a job. Each listens at `port` plus its number on its node.
struct TensorflowCluster {
  std::vector<TensorflowNode> nodes{};  ///< In the order of their ranks.
  std::uint16_t port = 0;
};

/// A worker: its rank, the number of its node, and its number there.
struct TensorflowWorker {
  int rank = 0;
  int node = 0;
  int on_node = 0;
};

/// Returns the value of TF_CONFIG for a worker. Absent for a single rank, where ports would be
/// higher than 65,535, and where ranks are not numbered node by node: the list would name another
/// place than the worker's own.
std::optional<std::string> tensorflow_config(const TensorflowCluster& cluster,
                                             const TensorflowWorker& worker);

/// Returns the cluster of ranks that find MASTER_PORT and FASTGPU_NODE_IPS in their environment.
/// Absent without one of them, and where `ranks_by_node` has another number of nodes.
std::optional<TensorflowCluster> tensorflow_cluster(const std::vector<std::string>& environment,
                                                    const std::vector<int>& ranks_by_node);

}  // namespace fastgpu::agent
