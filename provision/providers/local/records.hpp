// The records of the local provider beside its nodes: one file for each cluster and each node.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "provision/providers/local/subnet.hpp"

namespace fastgpu::provision::local {

struct LocalClusterRecord {
  std::string id;
  std::string name;
  Subnet subnet;
  std::map<int, std::string> nodes{};  ///< The names by index.
};

/// The state of a node's file system: `unfinished` also if it is about to be deleted or made anew.
enum class NodeImageState { unfinished, ready };

struct NodeRecord {
  int index = 0;
  std::string name;
  std::string token;
  NodeImageState image = NodeImageState::unfinished;
};

/// Reads the record in `folder`, which is the cluster's; absent without a usable one.
std::optional<LocalClusterRecord> read_cluster(const std::filesystem::path& folder);
void write_cluster(const std::filesystem::path& folder, const LocalClusterRecord& record);

/// Reads the record in `folder`, which is the node's; absent without a usable one, as after a kill.
std::optional<NodeRecord> read_node(const std::filesystem::path& folder);
void write_node(const std::filesystem::path& folder, const NodeRecord& record);
void remove_node_record(const std::filesystem::path& folder);

/// Returns the indices of the node folders in a cluster's folder, in order.
std::vector<int> node_indices(const std::filesystem::path& cluster_folder);

}  // namespace fastgpu::provision::local
