// From nodes to nothing: the part that deleting, scaling down, rolling back and gc share.
#pragma once

#include <vector>

#include "provision/tools.hpp"

namespace fastgpu::provision {

/// Ends the machines of `nodes`, then erases each that is gone, with its intents. Throws with the
/// first that is not; those stay on record as `deleting`.
void take_down_nodes(const Tools& tools, Provider& provider, const state::Cluster& cluster,
                     const std::vector<state::Node>& nodes);

/// Ends what machines there are of nodes that were to be replaced; they are `lost` again, with no
/// open intent. Throws with the first that is not gone.
void lose_nodes(const Tools& tools, Provider& provider, const state::Cluster& cluster,
                std::vector<state::Node> nodes);

/// Ends machines that carry the cluster's mark and a token that nobody knows. Returns how many.
int destroy_strays(const Tools& tools, Provider& provider, const state::Cluster& cluster);

/// Ends what a killed run may have at places that it tried. An intent of that kind stays open for
/// as long as a cloud may not list what it has given.
void end_trials(const Tools& tools, Provider& provider, const state::Cluster& cluster);

/// Writes down that the cluster goes: cluster and nodes `deleting`, each with an open intent.
void mark_deleting(const Tools& tools, state::Cluster& cluster);

/// Removes a cluster marked as deleting: nodes, strays, what they shared, its files, its record and
/// all its intents. May be repeated after a kill at any instant.
void finish_delete(const Tools& tools, Provider& provider, const state::Cluster& cluster);

/// Takes the cluster off the record, with all its intents.
void erase_record(const Tools& tools, const state::Cluster& cluster);

}  // namespace fastgpu::provision
