// What an environment asks of its nodes beside itself, as env.yaml says it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/document.hpp"
#include "envs/drivers/cann.hpp"

namespace fastgpu::envs {

/// What the nodes are to have beside it, by their packages or their makers' installers: see
/// envs/drivers.
struct NodeNeeds {
  std::vector<std::string> apt{};  ///< Names of packages of the distribution.
  std::string driver{};            ///< "580", "580.95.05"; empty: none is asked for.
  std::string cuda{};              ///< Its toolkit: "13.0"; empty: none.
  std::optional<Cann> cann{};

  bool any() const noexcept { return !apt.empty() || wants_gpu() || cann; }
  bool wants_gpu() const noexcept { return !driver.empty() || !cuda.empty(); }
};

/// The fields of env.yaml that say it. Throws ErrorKind::usage with line and column.
NodeNeeds read_node_needs(const config::Value& root);
std::string to_yaml(const NodeNeeds& needs);

}  // namespace fastgpu::envs
