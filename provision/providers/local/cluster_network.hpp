// The bridge that joins a cluster's nodes, and the addresses it is given.
#pragma once

#include <filesystem>
#include <string>

#include "provision/providers/local/records.hpp"

namespace fastgpu::provision::local {

/// What the bridges of one root folder are marked with.
std::string bridge_mark(const std::string& root_id, const std::filesystem::path& root);

struct NetworkWish {
  std::string cluster_id;
  std::string cluster_name;
  std::string mark;
  std::filesystem::path storage;  ///< Holds the folders of this and other clusters.
};

struct ClusterNetwork {
  ClusterRecord record;
  int bridge = 0;  ///< The link's index.
};

/// The cluster's record and bridge, made where they are missing. Addresses are chosen once, away
/// from every address and route of this machine and from other clusters, stopped ones too, and are
/// on record before the bridge is made. Throws ErrorKind::conflict where somebody else has taken
/// them while the cluster was stopped, capacity where none are free.
ClusterNetwork ensure_network(const NetworkWish& wish);

/// Deletes the bridge of a cluster; succeeds where there is none or it is another's.
void delete_bridge(const std::string& cluster_id, const std::string& mark);

}  // namespace fastgpu::provision::local
