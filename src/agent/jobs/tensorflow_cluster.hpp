// The variable TF_CONFIG, from which TensorFlow's cluster resolver learns the addresses of all
// workers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fastgpu::agent {

inline constexpr const char* kTensorflowConfig = "TF_CONFIG";

/// The places of the workers of a job. Each listens at `port` plus its number on its node.
struct TensorflowCluster {
  std::vector<std::string> nodes{};  ///< Their IP addresses, in the order of their ranks.
  int ranks_a_node = 0;
  int size = 0;  ///< The ranks of the job.
  std::uint16_t port = 0;
};

/// Returns the value of TF_CONFIG for a rank. Absent for a single rank, for nodes with different
/// numbers of ranks, and where the ports would be higher than 65,535.
std::optional<std::string> tensorflow_config(const TensorflowCluster& cluster, int rank);

/// Reads the cluster from WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_PORT and FASTGPU_NODE_IPS, as they
/// are in the environment of a rank; absent without one of them.
std::optional<TensorflowCluster> tensorflow_cluster(const std::vector<std::string>& environment);

}  // namespace fastgpu::agent
