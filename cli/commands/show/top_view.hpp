// The figures of `top` as a table and as a document.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/ui/view.hpp"
#include "cli/workflows/metric_line.hpp"
#include "launcher/node_usage.hpp"
#include "state/job_record.hpp"

namespace fastgpu::cli {

using UsageOfNode = HostResult<launcher::NodeUsage>;

/// Returns the usage of each node between two readings of all; the error of a node that did not
/// answer both times.
std::vector<UsageOfNode> usage_of_nodes(std::span<const HostResult<launcher::UsageCounters>> before,
                                        std::span<const HostResult<launcher::UsageCounters>> after);

struct JobOnNodes {
  std::string id;
  std::vector<state::NodeRanks> placement;
  std::vector<PrintedMetric> metrics{};  ///< The metrics that it printed last; empty for none.
  /// The engine that runs the job. Engines other than mpirun choose the nodes of ranks themselves:
  /// such a job has a row of its own.
  state::EngineKind engine = state::EngineKind::mpirun;
  std::string engine_nodes{};  ///< The nodes that the engine has chosen, as it writes them.
};

/// `cluster` is empty for jobs in Kubernetes alone.
View view_of_usage(const std::string& cluster, std::span<const UsageOfNode> nodes,
                   std::span<const JobOnNodes> jobs);

}  // namespace fastgpu::cli
