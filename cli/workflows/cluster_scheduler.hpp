// The scheduler that fastgpu sets up on the nodes of a cluster.
#pragma once

#include <span>
#include <vector>

#include "cli/workflows/remote_target.hpp"
#include "cli/workflows/services.hpp"
#include "launcher/checks/finding.hpp"

namespace fastgpu::cli {

/// Returns true if fastgpu has set Slurm up on the nodes of the cluster, which then share no home
/// directory.
bool has_own_slurm(const state::Cluster& cluster);

/// Records that the cluster has the scheduler, under the cluster's lock.
void record_scheduler(const provision::Tools& tools, const ClusterName& name,
                      state::Scheduler scheduler);

/// Sets up the scheduler of the cluster, if it has one, on all of its running nodes, and waits
/// until they are in service. May be repeated at any time: changes of the nodes are taken over, and
/// what runs already is left alone. Throws, naming the node, if one cannot run it.
void arrange_scheduler(Services& services, const ClusterName& name);

/// Returns the faults of the scheduler on the target's nodes that answer. The cluster has one.
std::vector<launcher::Finding> check_scheduler(Services& services, const RemoteTarget& target);

/// Ends the scheduler on nodes that leave the cluster but continue to run: hosts of the user's own.
/// Reports each node that does not answer, with the command that removes the scheduler there later.
/// Does nothing for other providers, whose machines go.
void remove_scheduler(Services& services, const state::Cluster& cluster,
                      std::span<const state::Node> nodes);

}  // namespace fastgpu::cli
