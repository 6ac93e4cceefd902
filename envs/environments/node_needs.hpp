// An environment's requirements on its nodes, from env.yaml.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/document.hpp"
#include "envs/drivers/cann.hpp"

namespace fastgpu::envs {

/// The software that the nodes must have beside it, from their packages or their makers'
/// installers: see envs/drivers.
struct NodeNeeds {
  std::vector<std::string> apt{};  ///< Names of packages of the distribution.
  std::string driver{};            ///< "580", "580.95.05"; empty: not required.
  std::string cuda{};              ///< The toolkit: "13.0"; empty: not required.
  std::optional<Cann> cann{};
  bool rdma = false;  ///< The software for RDMA, on the nodes that have it.

  bool any() const noexcept { return !apt.empty() || wants_gpu() || cann || rdma; }
  bool wants_gpu() const noexcept { return !driver.empty() || !cuda.empty(); }
};

/// Reads these fields of env.yaml. Throws ErrorKind::usage with line and column.
NodeNeeds read_node_needs(const config::Value& root);
std::string to_yaml(const NodeNeeds& needs);

}  // namespace fastgpu::envs
