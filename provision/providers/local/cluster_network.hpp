// The bridge that joins a cluster's nodes, and its addresses.
#pragma once

#include <filesystem>
#include <string>

#include "provision/providers/local/records.hpp"

namespace fastgpu::provision::local {

/// Returns the mark of the bridges of one root folder.
std::string bridge_mark(const std::string& root_id, const std::filesystem::path& root);

struct LocalNetworkRequest {
  std::string cluster_id;
  std::string cluster_name;
  std::string mark;
  std::filesystem::path storage;  ///< The parent of the folders of this and other clusters.
};

struct ClusterNetwork {
  LocalClusterRecord record;
  int bridge = 0;  ///< The link's index.
};

/// Makes the cluster's record and bridge if they are missing. Addresses are chosen once, apart from
/// every address and route of this machine and from other clusters, stopped ones included. They are
/// on record before the bridge is made. Throws ErrorKind::conflict if another program has taken
/// them while the cluster was stopped, capacity if none are free.
ClusterNetwork ensure_network(const LocalNetworkRequest& request);

/// Deletes the bridge of a cluster; succeeds if it is missing or another's.
void delete_bridge(const std::string& cluster_id, const std::string& mark);

}  // namespace fastgpu::provision::local
