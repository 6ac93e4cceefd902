// Acquires machines for all nodes of a new cluster, at one place, from any number of places.
#pragma once

#include <vector>

#include "provision/cluster_keys.hpp"
#include "provision/cluster_spec.hpp"
#include "provision/tools.hpp"

namespace fastgpu::provision {

/// Requests machines at the cluster's place on record first, then at its other places. If `holding`
/// allows it, the most machines that any place gave are kept meanwhile, and all places are asked
/// again and again. Otherwise these machines are given back before the next place is asked.
///
/// Afterwards every node has a machine at the place on record. If no place had all of them and
/// fewer are enough, nodes without a machine are removed from `nodes` and from the record. If no
/// place had enough, throws the refusals of the places as one, and the machines so far are on
/// record. Requests of an earlier run `may_be_there` and are looked for.
void gather(const Tools& tools, Provider& provider, const GangPolicy& holding,
            state::Cluster& cluster, std::vector<state::Node>& nodes, HostKeys& host_keys,
            bool may_be_there);

/// Acquires machines again after machines of `nodes` have turned out to be gone.
void gather_again(const Tools& tools, Provider& provider, const GangPolicy& holding,
                  state::Cluster& cluster, std::vector<state::Node>& nodes, HostKeys& host_keys);

/// Gives back the machines at the cluster's place, and records its next place. Returns false if
/// this is the last place.
bool move_on(const Tools& tools, Provider& provider, state::Cluster& cluster,
             std::vector<state::Node>& nodes);

}  // namespace fastgpu::provision
