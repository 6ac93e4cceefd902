// Machines for all nodes of a new cluster, at one place, from any number of places that are asked.
#pragma once

#include <vector>

#include "provision/cluster_keys.hpp"
#include "provision/cluster_spec.hpp"
#include "provision/tools.hpp"

namespace fastgpu::provision {

/// Asks the cluster's place on record first, then its other places. If `holding` allows it, the
/// most machines that any place gave are kept meanwhile, and all places are asked again and again.
/// Otherwise these machines are given back before the next place is asked.
///
/// Afterwards every node has a machine at the place on record. If no place had all of them and
/// fewer are enough, nodes without a machine are removed from `nodes` and from the record. Throws
/// capacity, with the words of the last place, if no place had enough; the machines so far are on
/// record then. Requests of an earlier run `may_be_there` and are looked for.
void gather(const Tools& tools, Provider& provider, const Holding& holding, state::Cluster& cluster,
            std::vector<state::Node>& nodes, HostKeys& host_keys, bool may_be_there);

/// Gathers again, after machines of `nodes` have turned out to be gone: others are sought in their
/// place.
void gather_again(const Tools& tools, Provider& provider, const Holding& holding,
                  state::Cluster& cluster, std::vector<state::Node>& nodes, HostKeys& host_keys);

/// Gives back the machines at the cluster's place, and puts it on record at its next place. Returns
/// false without a next place.
bool move_on(const Tools& tools, Provider& provider, state::Cluster& cluster,
             std::vector<state::Node>& nodes);

}  // namespace fastgpu::provision
