// The steps that the local provider's verbs are made of, each on many nodes at once.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "provision/provider.hpp"
#include "provision/providers/local/node_image.hpp"
#include "provision/providers/local/node_process.hpp"
#include "provision/providers/local/site.hpp"

namespace fastgpu::provision::local {

using Results = std::vector<HostResult<Instance>>;

/// What to do to one node, and what came of it. A step leaves out the nodes that have failed.
struct Task {
  int index = 0;
  NodeName name;
  std::optional<Error> failure{};
};

std::vector<Task> tasks_for(std::span<const state::Node> nodes);

/// One result a task: its failure, or the node in `state`.
Results results_of(const std::vector<Task>& tasks, const std::filesystem::path& cluster_folder,
                   const ClusterRecord& record, InstanceState state);

/// The node in `folder` as the rest of fastgpu sees it.
Instance instance_at(const std::filesystem::path& folder, const ClusterRecord& record, int index,
                     InstanceState state);

/// What is the same in the file systems of all nodes made together.
ImagePlan image_plan(const Site& site, const LocalConfig& config, const std::string& user);

/// Fills the node's folder, unless that has been done under the same token. Throws
/// ErrorKind::conflict where a node of another token has that index.
void prepare_node(const Site& site, const ImagePlan& common, const NodeRequest& request);

/// Throws ErrorKind::not_found for a node whose file system is gone or has never been whole.
void require_image(const Site& site, int index);

/// Boots the nodes, `prepare` called for each just before.
void boot(const Site& site, const LocalConfig& config, std::vector<Task>& tasks,
          const std::function<void(std::size_t)>& prepare, const Cancel& cancel);

/// Tells the nodes that run who belongs to the cluster now.
void tell_hosts(const std::filesystem::path& cluster_folder, const ClusterRecord& record);

/// Ends the nodes' processes and deletes their links.
void end(const std::filesystem::path& cluster_folder, const std::string& cluster_id,
         std::vector<Task>& tasks, Ending ending);

/// How many trees are removed at once, and how many folders of each are open at once.
struct RemovalWidth {
  std::size_t trees = 1;
  int deepest = 2;
};

/// Returns the width that so many free descriptors allow.
RemovalWidth removal_width(std::size_t descriptors);

/// Deletes what ended nodes had. The record goes last: while anything is there, `list` says so.
void delete_folders(const std::filesystem::path& cluster_folder, std::vector<Task>& tasks);

}  // namespace fastgpu::provision::local
