// Networks in which several clusters are. A cluster's own network can only be removed after all
// clusters in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "provision/cluster_spec.hpp"
#include "provision/provider.hpp"
#include "state/store.hpp"

namespace fastgpu::provision {

/// Returns the id of the cloud's network that the cluster is in; empty without one.
std::string network_of(const state::Cluster& cluster);

/// Returns the other clusters on record that have nodes in the cluster's network.
std::vector<state::Cluster> others_in_network(const state::Store& store,
                                              const state::Cluster& cluster);

/// Returns the warning that a new cluster is to be in the network of another cluster on record;
/// empty if it gets a network of its own, or one of the user.
std::string shared_network_warning(const state::Store& store, const ClusterSpec& spec);

/// Returns the failure to remove the network of a cluster whose machines are gone. `users` are the
/// clusters in it; `refusal` is the cloud's answer.
Error network_stays(const state::Cluster& cluster, const std::vector<state::Cluster>& users,
                    const Error& refusal);

/// Returns true if the machines of a deleted cluster are gone, and only its network may be left.
bool is_remainder(const state::Store& store, const state::Cluster& cluster);

}  // namespace fastgpu::provision
