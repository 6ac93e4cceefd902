// The steps of the local provider's verbs, each on many nodes at once.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "base/outcome.hpp"
#include "provision/provider.hpp"
#include "provision/providers/local/node_image.hpp"
#include "provision/providers/local/node_process.hpp"
#include "provision/providers/local/site.hpp"

namespace fastgpu::provision::local {

using Results = std::vector<HostResult<Instance>>;

/// The task for one node, and its outcome. A step leaves out the nodes that have failed.
struct LocalTask {
  int index = 0;
  NodeName name;
  Outcome<void> outcome{};
};

std::vector<LocalTask> tasks_for(std::span<const state::Node> nodes);

/// Returns one result per task: its failure, or the node in `state`.
Results results_of(const std::vector<LocalTask>& tasks, const std::filesystem::path& cluster_folder,
                   const LocalClusterRecord& record, InstanceState state);

/// Returns the node in `folder` in the form that the rest of fastgpu uses.
Instance instance_at(const std::filesystem::path& folder, const LocalClusterRecord& record,
                     int index, InstanceState state);

/// Returns the common part of the file systems of all nodes made together.
ImagePlan image_plan(const LocalSite& site, const LocalConfig& config, const std::string& user);

/// Fills the node's folder, unless that has been done under the same token. Throws
/// ErrorKind::conflict if a node of another token has that index.
void prepare_node(const LocalSite& site, const ImagePlan& common, const NodeRequest& request);

/// Throws ErrorKind::not_found for a node whose file system is gone or incomplete.
void require_image(const LocalSite& site, int index);

/// Boots the nodes; `prepare` is called for each just before.
void boot(const LocalSite& site, const LocalConfig& config, std::vector<LocalTask>& tasks,
          const std::function<void(std::size_t)>& prepare, const Cancel& cancel);

/// Updates the list of the cluster's hosts on the running nodes.
void tell_hosts(const std::filesystem::path& cluster_folder, const LocalClusterRecord& record);

/// Ends the nodes' processes and deletes their links.
void end(const std::filesystem::path& cluster_folder, const std::string& cluster_id,
         std::vector<LocalTask>& tasks, Ending ending);

/// The number of trees that are removed at once, and of open folders of each.
struct RemovalWidth {
  std::size_t trees = 1;
  int deepest = 2;
};

/// Returns the width for that number of free descriptors.
RemovalWidth removal_width(std::size_t descriptors);

/// Deletes the remains of ended nodes. The record goes last: while anything is left, `list` shows
/// it.
void delete_folders(const std::filesystem::path& cluster_folder, std::vector<LocalTask>& tasks);

}  // namespace fastgpu::provision::local
