// The places of a job's ranks on parts of nodes: --per.
#pragma once

#include <vector>

#include "cli/program/context.hpp"
#include "cli/workflows/remote_target.hpp"
#include "launcher/topologies.hpp"

namespace fastgpu::cli {

/// Asks the nodes for their topologies, and lets each have as many ranks as it has places for them.
/// Throws usage for a node without a place, or with fewer slots than the ranks that it would get.
std::vector<launcher::NodeTopology> place_by_topology(Context& context, RemoteTarget& target,
                                                      const launcher::JobSpec& spec);

}  // namespace fastgpu::cli
