// Machines of a spot cluster that the cloud has taken back without a notice that a node could read.
#pragma once

#include <chrono>
#include <vector>

#include "cli/program/context.hpp"
#include "launcher/job.hpp"

namespace fastgpu::cli {

/// Returns the nodes with ranks of `record` whose machines are gone or stopped, by what their place
/// reports now.
std::vector<NodeName> without_machine(const std::vector<state::Node>& nodes,
                                      const launcher::JobRecord& record);

/// Asks the cloud of a spot cluster which nodes of a job have lost their machines: nothing else
/// takes them from a cluster that no other command changes. Asks again for `patience`, because a
/// cloud lists a machine for some seconds after its end. Empty for any other cluster, and if the
/// cloud does not answer. Throws interrupted after a cancel.
std::vector<NodeName> taken_without_notice(Context& context, const state::Cluster& cluster,
                                           const launcher::JobRecord& record,
                                           std::chrono::seconds patience);

}  // namespace fastgpu::cli
