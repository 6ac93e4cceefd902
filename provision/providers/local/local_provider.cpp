#include "provision/providers/local/local_provider.hpp"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/fault_point.hpp"
#include "provision/providers/local/cluster_network.hpp"
#include "provision/providers/local/files.hpp"
#include "provision/providers/local/links.hpp"
#include "provision/providers/local/node_files.hpp"
#include "provision/providers/local/node_image.hpp"
#include "provision/providers/local/node_process.hpp"
#include "provision/providers/local/orphans.hpp"
#include "provision/providers/local/running_hosts.hpp"
#include "provision/providers/local/site.hpp"
#include "provision/providers/local/storage.hpp"

namespace fastgpu::provision {
namespace {

namespace fs = std::filesystem;
using namespace local;
using Results = std::vector<HostResult<Instance>>;

/// What to do to one node, and what came of it.
struct Task {
  int index = 0;
  NodeName name;
  std::optional<Error> failure{};
};

std::vector<Task> tasks_for(std::span<const state::Node> nodes) {
  std::vector<Task> tasks;
  for (const state::Node& node : nodes)
    tasks.push_back({node.index, node.name});
  return tasks;
}

std::vector<fs::path> folders_of(const fs::path& cluster_folder, const std::vector<Task>& tasks) {
  std::vector<fs::path> folders;
  for (const Task& task : tasks)
    folders.push_back(cluster_folder / std::to_string(task.index));
  return folders;
}

Instance instance_at(const fs::path& folder, const ClusterRecord& record, int index,
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

Results results_of(const std::vector<Task>& tasks, const fs::path& cluster_folder,
                   const ClusterRecord& record, InstanceState state) {
  Results results;
  for (const Task& task : tasks) {
    const fs::path folder = cluster_folder / std::to_string(task.index);
    if (task.failure) {
      results.push_back({task.name, *task.failure});
    } else {
      results.push_back({task.name, instance_at(folder, record, task.index, state)});
    }
  }
  return results;
}

/// Boots the nodes of all tasks that have not failed so far.
void boot(const Site& site, const LocalConfig& config, std::vector<Task>& tasks,
          const Cancel& cancel) {
  std::vector<BootJob> jobs;
  std::vector<Task*> booted;
  for (Task& task : tasks) {
    if (task.failure) continue;
    jobs.push_back(boot_job(site, task.index));
    booted.push_back(&task);
  }
  const auto outcomes = boot_nodes(config.init_program, jobs, cancel);
  for (std::size_t i = 0; i < booted.size(); ++i)
    booted[i]->failure = outcomes[i];
}

/// Tells all nodes of the cluster that run, but those in `except`, who belongs to it now.
void tell_hosts(const fs::path& cluster_folder, const ClusterRecord& record,
                const std::vector<Task>& except) {
  const std::string block = hosts_of(record);
  for (const auto& [index, name] : record.nodes) {
    if (std::ranges::find(except, index, &Task::index) != except.end()) continue;
    if (const auto live = find_live(cluster_folder / std::to_string(index)))
      update_hosts_of(live->pid, block);
  }
}

/// Fills the node's folder, unless that has been done under the same token.
void prepare_node(const Site& site, const ImagePlan& common, const NodeRequest& request) {
  ImagePlan plan = common;
  plan.folder = site.node_folder(request.index);
  const auto found = read_node(plan.folder);
  const bool filled = found && found->image == ImageState::ready;
  if (filled && found->token == request.token) return;
  if (filled || is_live(plan.folder))
    throw Error(ErrorKind::conflict, request.name.value + ": another node of that index is there");
  remove_tree(plan.folder);
  make_private_folder(plan.folder);
  NodeRecord record{request.index, request.name.value, request.token, ImageState::unfinished};
  write_node(plan.folder, record);
  fault_point("local:node_written");
  fill_image(plan, request);
  record.image = ImageState::ready;
  write_node(plan.folder, record);
  fault_point("local:image_filled");
}

ImagePlan image_plan(const Site& site, const LocalConfig& config, const std::string& user) {
  ImagePlan plan;
  plan.layers = site.layers;
  plan.hosts = first_hosts(hosts_of(site.network.record));
  plan.open_accounts = {"root", user};
  plan.private_homes = own_homes();
  plan.private_homes.insert(plan.private_homes.end(), config.private_homes.begin(),
                            config.private_homes.end());
  return plan;
}

void delete_ports(const std::string& cluster_id, const std::vector<Task>& tasks) {
  std::vector<std::string> names;
  for (const Task& task : tasks)
    names.push_back(port_name(cluster_id, task.index));
  NetlinkSocket socket;
  delete_links(socket, names);
}

void end(const fs::path& cluster_folder, const std::string& cluster_id, std::vector<Task>& tasks,
         Ending ending) {
  const auto outcomes = end_nodes(folders_of(cluster_folder, tasks), ending);
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (outcomes[i]) tasks[i].failure = outcomes[i]->during(tasks[i].name.value);
  fault_point("local:ended");
  delete_ports(cluster_id, tasks);
}

/// Deletes what ended nodes had. The record goes last: while anything is there, `list` says so.
void delete_folders(const fs::path& cluster_folder, std::vector<Task>& tasks) {
  for (Task& task : tasks) {
    if (task.failure) continue;
    const fs::path folder = cluster_folder / std::to_string(task.index);
    try {
      if (auto node = read_node(folder)) {
        node->image = ImageState::unfinished;
        write_node(folder, *node);
      }
      remove_tree(folder / "layers");
      fault_point("local:layers_removed");
      remove_tree(folder);
    } catch (const Error& e) {
      task.failure = e.during(task.name.value);
    }
  }
}

bool may(std::span<const unsigned> capabilities) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  return std::ranges::all_of(capabilities, [&](unsigned capability) {
    return (data[capability / 32].effective >> capability % 32 & 1U) != 0;
  });
}

}  // namespace

LocalProvider::LocalProvider(LocalConfig config) : config_(std::move(config)) {}

void LocalProvider::check_usable() {
  constexpr unsigned kNeeded[] = {CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_MKNOD, CAP_CHOWN};
  if (::geteuid() != 0 || !may(kNeeded))
    throw Error(ErrorKind::denied,
                "local nodes need root's rights on this machine: run fastgpu as root, or use hosts "
                "that you have with --provider static");
  find_sshd(config_);
  if (::access(config_.init_program.c_str(), X_OK) != 0)
    throw Error(ErrorKind::local, config_.init_program.string() +
                                      " is missing, which local nodes begin with: install fastgpu "
                                      "again");
  choose_storage(config_);
}

void LocalProvider::describe_node(const state::Cluster& /*cluster*/, state::Node& node) const {
  check_index(node.index);
}

std::string LocalProvider::prepare(const state::Cluster& cluster) {
  return to_string(open_site(config_, cluster).network.record.subnet);
}

Results LocalProvider::create(const state::Cluster& cluster, std::span<const NodeRequest> requests,
                              const Cancel& cancel) {
  for (const NodeRequest& request : requests)
    check_index(request.index);
  Site site = open_site(config_, cluster);
  ClusterRecord& record = site.network.record;
  for (const NodeRequest& request : requests)
    record.nodes[request.index] = request.name.value;
  write_cluster(site.folder, record);
  fault_point("local:cluster_written");
  const ImagePlan plan = image_plan(site, config_, cluster.user);
  std::vector<Task> tasks;
  for (const NodeRequest& request : requests) {
    tasks.push_back({request.index, request.name});
    try {
      cancel.check();
      prepare_node(site, plan, request);
    } catch (const Error& e) {
      tasks.back().failure = e;
    }
  }
  boot(site, config_, tasks, cancel);
  fault_point("local:booted");
  tell_hosts(site.folder, record, tasks);
  return results_of(tasks, site.folder, record, InstanceState::running);
}

std::vector<Instance> LocalProvider::list(const state::Cluster& cluster) {
  std::vector<Instance> instances;
  const fs::path folder = find_cluster_folder(config_, cluster.id.value);
  if (folder.empty()) return instances;
  const auto record = read_cluster(folder);
  if (!record) return instances;
  for (const int index : node_indices(folder)) {
    const fs::path node_folder = folder / std::to_string(index);
    const auto node = read_node(node_folder);
    const bool filled = node && node->image == ImageState::ready;
    const auto state = is_live(node_folder) ? InstanceState::running
                       : filled             ? InstanceState::stopped
                                            : InstanceState::pending;
    instances.push_back(instance_at(node_folder, *record, index, state));
  }
  return instances;
}

Results LocalProvider::start(const state::Cluster& cluster, std::span<const state::Node> nodes,
                             const Cancel& cancel) {
  const Site site = open_site(config_, cluster);
  std::vector<Task> tasks = tasks_for(nodes);
  for (Task& task : tasks) {
    const auto node = read_node(site.node_folder(task.index));
    if (!node || node->image != ImageState::ready)
      task.failure = Error(ErrorKind::not_found, task.name.value + ": its file system is gone");
  }
  boot(site, config_, tasks, cancel);
  tell_hosts(site.folder, site.network.record, {});
  return results_of(tasks, site.folder, site.network.record, InstanceState::running);
}

Results LocalProvider::stop(const state::Cluster& cluster, std::span<const state::Node> nodes,
                            const Cancel& cancel) {
  cancel.check();
  const fs::path folder = find_cluster_folder(config_, cluster.id.value);
  std::vector<Task> tasks = tasks_for(nodes);
  const auto record = folder.empty() ? std::nullopt : read_cluster(folder);
  if (!record)
    throw Error(ErrorKind::not_found, "cluster '" + cluster.name.value + "' has nothing here");
  end(folder, cluster.id.value, tasks, Ending::in_order);
  return results_of(tasks, folder, *record, InstanceState::stopped);
}

Results LocalProvider::destroy(const state::Cluster& cluster, std::span<const state::Node> nodes) {
  const fs::path folder = find_cluster_folder(config_, cluster.id.value);
  std::vector<Task> tasks = tasks_for(nodes);
  auto record = folder.empty() ? std::nullopt : read_cluster(folder);
  if (!record) record = ClusterRecord{cluster.id.value, cluster.name.value, {}};
  if (fs::exists(folder)) {
    end(folder, cluster.id.value, tasks, Ending::at_once);
    delete_folders(folder, tasks);
    for (const Task& task : tasks)
      if (!task.failure) record->nodes.erase(task.index);
    write_cluster(folder, *record);
    fault_point("local:destroyed");
    tell_hosts(folder, *record, {});
  }
  return results_of(tasks, folder, *record, InstanceState::gone);
}

void LocalProvider::release(const state::Cluster& cluster) {
  const fs::path folder = find_cluster_folder(config_, cluster.id.value);
  if (folder.empty()) return;
  for (const int index : node_indices(folder))
    if (is_live(folder / std::to_string(index)))
      throw Error(ErrorKind::conflict,
                  "cluster '" + cluster.name.value + "' still has node " + std::to_string(index));
  delete_bridge(cluster.id.value, find_mark(config_));
  fault_point("local:bridge_deleted");
  remove_tree(folder);
  release_storage(config_);
}

std::vector<Orphan> LocalProvider::orphans(std::span<const state::ClusterId> known) {
  return find_orphans(config_, known);
}

void LocalProvider::remove_orphan(const Orphan& orphan) {
  end_marked_processes(config_, orphan.cluster.value);
  const fs::path folder = find_cluster_folder(config_, orphan.cluster.value);
  std::vector<Task> tasks;
  if (!folder.empty())
    for (const int index : node_indices(folder))
      tasks.push_back({index, {"node " + std::to_string(index)}});
  end(folder, orphan.cluster.value, tasks, Ending::at_once);
  for (const Task& task : tasks)
    if (task.failure) throw *task.failure;
  delete_bridge(orphan.cluster.value, find_mark(config_));
  if (!folder.empty()) remove_tree(folder);
  release_storage(config_);
}

}  // namespace fastgpu::provision
