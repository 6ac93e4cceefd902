#include "provision/providers/local/node_tasks.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#include "base/descriptors.hpp"
#include "base/fault_point.hpp"
#include "provision/providers/local/durable_files.hpp"
#include "provision/providers/local/links.hpp"
#include "provision/providers/local/node_files.hpp"
#include "provision/providers/local/running_hosts.hpp"

namespace fastgpu::provision::local {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders_of(const fs::path& cluster_folder,
                                 const std::vector<LocalTask>& tasks) {
  std::vector<fs::path> folders;
  folders.reserve(tasks.size());
  for (const LocalTask& task : tasks)
    folders.push_back(cluster_folder / std::to_string(task.index));
  return folders;
}

void delete_ports(const std::string& cluster_id, const std::vector<LocalTask>& tasks) {
  std::vector<std::string> names;
  names.reserve(tasks.size());
  for (const LocalTask& task : tasks)
    names.push_back(port_name(cluster_id, task.index));
  NetlinkSocket socket;
  delete_links(socket, names);
}

/// Marks a node unfinished, so that the remains after a kill are not taken for a whole node.
void mark_unfinished(const fs::path& folder) {
  auto node = read_node(folder);
  if (!node) return;
  try {
    node->image = NodeImageState::unfinished;
    write_node(folder, *node);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::capacity) throw;
    remove_node_record(folder);  // This is possible even on a full disk, and has the same meaning.
  }
}

void delete_folder(const fs::path& cluster_folder, LocalTask& task, int deepest) noexcept try {
  const fs::path folder = cluster_folder / std::to_string(task.index);
  mark_unfinished(folder);
  remove_tree(folder / "layers", deepest);
  fault_point("local:layers_removed");
  remove_tree(folder, deepest);
} catch (const Error& e) {
  task.outcome = e.during(task.name.value);
} catch (const std::exception& e) {
  task.outcome = Error(ErrorKind::local, task.name.value + ": " + e.what());
}

/// Updates the hosts of a node. A failure on a node that is about to end does not matter.
void tell_hosts_of(const LiveNode& node, const std::string& block) try {
  update_hosts_of(node.pid, block);
} catch (const Error&) {
  if (!ends_within(node.process, std::chrono::seconds(1))) throw;
}

}  // namespace

std::vector<LocalTask> tasks_for(std::span<const state::Node> nodes) {
  std::vector<LocalTask> tasks;
  for (const state::Node& node : nodes)
    tasks.push_back({node.index, node.name});
  return tasks;
}

Instance instance_at(const fs::path& folder, const LocalClusterRecord& record, int index,
                     InstanceState state) {
  Instance instance;
  instance.index = index;
  instance.id = record.id + "/" + std::to_string(index);
  if (const auto node = read_node(folder)) instance.token = node->token;
  instance.state = state;
  instance.address = to_string(record.subnet.node(index));
  instance.private_address = instance.address;
  return instance;
}

Results results_of(const std::vector<LocalTask>& tasks, const fs::path& cluster_folder,
                   const LocalClusterRecord& record, InstanceState state) {
  Results results;
  for (const LocalTask& task : tasks) {
    const fs::path folder = cluster_folder / std::to_string(task.index);
    if (task.outcome.ok())
      results.push_back({task.name, instance_at(folder, record, task.index, state)});
    else
      results.push_back({task.name, task.outcome.error()});
  }
  return results;
}

void require_image(const LocalSite& site, int index) {
  const auto node = read_node(site.node_folder(index));
  if (!node || node->image != NodeImageState::ready)
    throw Error(ErrorKind::not_found, "its file system is gone");
}

void boot(const LocalSite& site, const LocalConfig& config, std::vector<LocalTask>& tasks,
          const std::function<void(std::size_t)>& prepare, const Cancel& cancel) {
  std::vector<BootJob> jobs;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    jobs.push_back(boot_job(site, tasks[i].index, tasks[i].name.value));
    jobs.back().prepare = [&, i] {
      prepare(i);
      make_layer_folders(site, tasks[i].index);
    };
  }
  const auto outcomes = boot_nodes(config.init_program, jobs, cancel);
  for (std::size_t i = 0; i < tasks.size(); ++i)
    tasks[i].outcome = outcomes[i];
}

void tell_hosts(const fs::path& cluster_folder, const LocalClusterRecord& record) {
  const std::string block = hosts_of(record);
  for (const auto& [index, name] : record.nodes) {
    if (const auto live = find_live(cluster_folder / std::to_string(index)))
      tell_hosts_of(*live, block);
  }
}

void prepare_node(const LocalSite& site, const ImagePlan& common, const NodeRequest& request) {
  ImagePlan plan = common;
  plan.folder = site.node_folder(request.index);
  const auto found = read_node(plan.folder);
  const bool filled = found && found->image == NodeImageState::ready;
  if (filled && found->token == request.token) return;
  if (filled || is_live(plan.folder))
    throw Error(ErrorKind::conflict, "another node has that index");
  remove_tree(plan.folder);
  make_private_folder(plan.folder);
  NodeRecord record{request.index, request.name.value, request.token, NodeImageState::unfinished};
  write_node(plan.folder, record);
  fault_point("local:node_written");
  fill_image(plan, request);
  record.image = NodeImageState::ready;
  write_node(plan.folder, record);
  fault_point("local:image_filled");
}

ImagePlan image_plan(const LocalSite& site, const LocalConfig& config, const std::string& user) {
  ImagePlan plan;
  plan.layers = site.layers;
  plan.overlay = site.fuse_overlayfs.empty() ? OverlayKind::kernel : OverlayKind::fuse;
  plan.hosts = first_hosts(hosts_of(site.network.record));
  plan.open_accounts = {"root", user};
  plan.private_homes = own_homes();
  plan.private_homes.insert(plan.private_homes.end(), config.private_homes.begin(),
                            config.private_homes.end());
  return plan;
}

RemovalWidth removal_width(std::size_t descriptors) {
  constexpr std::size_t kTrees = 8;
  constexpr std::size_t kUsualDepth = 16;
  const std::size_t trees = std::clamp(descriptors / kUsualDepth, std::size_t{1}, kTrees);
  // Reading the deepest folder takes one more descriptor, and so does the new place of a moved
  // folder.
  const std::size_t each = descriptors / trees;
  return {trees, each <= 4 ? 2 : std::min(kDeepest, static_cast<int>(each - 2))};
}

void end(const fs::path& cluster_folder, const std::string& cluster_id,
         std::vector<LocalTask>& tasks, Ending ending) {
  const auto outcomes = end_nodes(folders_of(cluster_folder, tasks), ending);
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (!outcomes[i].ok()) tasks[i].outcome = outcomes[i].error().during(tasks[i].name.value);
  fault_point("local:ended");
  delete_ports(cluster_id, tasks);
}

void delete_folders(const fs::path& cluster_folder, std::vector<LocalTask>& tasks) {
  // Deleting waits for the disk far more than it computes: several at a time overlap the waits.
  const RemovalWidth width = removal_width(free_descriptors());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < tasks.size();)
      if (tasks[i].outcome.ok()) delete_folder(cluster_folder, tasks[i], width.deepest);
  };
  std::vector<std::jthread> helpers;
  while (helpers.size() + 1 < std::min(width.trees, tasks.size()))
    helpers.emplace_back(work);
  work();
}

}  // namespace fastgpu::provision::local
