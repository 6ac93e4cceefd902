// Machines for all nodes of a new cluster, at one place: however many places have to be asked.
#pragma once

#include <vector>

#include "provision/cluster_keys.hpp"
#include "provision/cluster_spec.hpp"
#include "provision/tools.hpp"

namespace fastgpu::provision {

/// Asks where the cluster is on record first, then at its other places. Where `holding` allows it
/// the most that were got anywhere are kept meanwhile, and all places are asked again and again;
/// else what was got is given back before the next place is asked.
///
/// Afterwards every node has a machine at the place on record. Where no place had all of them and
/// fewer will do, those that have none are struck off `nodes` and off the record. Throws capacity,
/// with what the last place said, where too few could be had anywhere; what was got is on record
/// then. What an earlier run has asked for `may_be_there` and is looked for.
void gather(const Tools& tools, Provider& provider, const Holding& holding, state::Cluster& cluster,
            std::vector<state::Node>& nodes, HostKeys& host_keys, bool may_be_there);

/// The same, once machines of `nodes` have turned out to be gone: others are sought in their place.
void gather_again(const Tools& tools, Provider& provider, const Holding& holding,
                  state::Cluster& cluster, std::vector<state::Node>& nodes, HostKeys& host_keys);

/// Gives back what was got where the cluster is, and puts it on record at its next place. False
/// where there is none.
bool move_on(const Tools& tools, Provider& provider, state::Cluster& cluster,
             std::vector<state::Node>& nodes);

}  // namespace fastgpu::provision
