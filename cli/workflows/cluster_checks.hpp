// Checks of a cluster, and what they found.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/workflows/remote_target.hpp"
#include "cli/workflows/services.hpp"
#include "launcher/checks/cluster_check.hpp"

namespace fastgpu::cli {

/// The outcome of one check on all nodes.
struct CheckLine {
  std::string name;
  std::string result;       ///< "ok", "warning", "error", "skipped"
  std::string skipped_for;  ///< Why the check does not apply; empty if it does.
};

struct CheckReport {
  std::string cluster;
  std::vector<launcher::CheckedNode> nodes;
  std::vector<CheckLine> checks;
  std::vector<launcher::Finding> findings;
};

std::vector<launcher::ClusterNode> cluster_nodes(Services& services, const RemoteTarget& target);

/// Checks the nodes and tries the connections between them. Throws only ErrorKind::interrupted.
CheckReport check_cluster(Services& services, const RemoteTarget& target);

/// Returns the finding that the all-reduce of `nodes` was not measured because of the errors among
/// `findings`. Its remedy names the nodes without errors, if several are left.
launcher::Finding unmeasured_all_reduce(const std::string& cluster,
                                        const std::vector<std::string>& nodes,
                                        const std::vector<launcher::Finding>& findings);

/// Returns "ok", "warning" or "error": the worst of the findings.
std::string worst_of(const std::vector<launcher::Finding>& findings);

}  // namespace fastgpu::cli
