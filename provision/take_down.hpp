// The removal of nodes: the common part of deleting, scaling down, rolling back and gc.
#pragma once

#include <optional>
#include <vector>

#include "provision/tools.hpp"

namespace fastgpu::provision {

/// Ends the machines of `nodes`, then erases each node that is gone, with its intents. Throws the
/// first failure; nodes that remain stay on record as `deleting`.
void take_down_nodes(const Tools& tools, Provider& provider, const state::Cluster& cluster,
                     const std::vector<state::Node>& nodes);

/// Ends any machines of nodes that were to be replaced. These nodes become `lost` again, without an
/// open intent. Throws for the first machine that is not gone.
void lose_nodes(const Tools& tools, Provider& provider, const state::Cluster& cluster,
                std::vector<state::Node> nodes);

/// Ends machines with the cluster's mark and an unknown token. Returns their number.
int destroy_strays(const Tools& tools, Provider& provider, const state::Cluster& cluster);

/// Ends machines that a killed run may have at places that it tried. The intents of such trials
/// stay open for as long as a cloud may not list a new machine.
void end_trials(const Tools& tools, Provider& provider, const state::Cluster& cluster);

/// Records that the cluster is being deleted: cluster and nodes `deleting`, each with an open
/// intent.
void mark_deleting(const Tools& tools, state::Cluster& cluster);

/// Removes a cluster marked as deleting: nodes, strays, shared parts, its files, its record and all
/// its intents. Throws timeout if its machines have not ended by `deadline`. Returns the reason if
/// the machines are gone and only a network is left, which something else uses: the cluster then
/// stays on record without nodes. May be repeated after a kill at any instant.
std::optional<Error> finish_delete(const Tools& tools, Provider& provider,
                                   const state::Cluster& cluster, Clock::time_point deadline);

/// Erases the cluster's record, with all its intents.
void erase_record(const Tools& tools, const state::Cluster& cluster);

}  // namespace fastgpu::provision
