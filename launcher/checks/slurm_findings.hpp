// The faults of the Slurm that fastgpu has set up on the nodes of a cluster. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.hpp"
#include "launcher/checks/finding.hpp"

namespace fastgpu::launcher {

/// The name of the check in reports.
inline constexpr std::string_view kSlurmCheck = "slurm";

/// A node that the controller gives no jobs.
struct NodeOutOfService {
  std::string node;   ///< The name in Slurm.
  std::string state;  ///< Slurm's word: "down*".
};

/// The report of a node about its Slurm.
struct SlurmHealth {
  NodeName node{};
  bool is_missing = false;           ///< True without Slurm of the cluster.
  std::vector<std::string> dead{};   ///< The daemons that do not run: "slurmd".
  std::string controller_failure{};  ///< The reason why the controller does not answer, or empty.
  std::vector<NodeOutOfService> out{};  ///< Reported by the node of the controller alone.
};

/// Parses the output of the action `check` of set_up_slurm.sh. Throws ErrorKind::remote, showing
/// the input, for anything else.
SlurmHealth parse_slurm_health(const NodeName& node, std::string_view text);

/// Returns the findings, each with the command that repairs Slurm of `cluster`.
std::vector<Finding> slurm_findings(std::span<const SlurmHealth> nodes, const std::string& cluster);

}  // namespace fastgpu::launcher
