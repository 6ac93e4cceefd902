#include "provision/providers/local/local_provider.hpp"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/fault_point.hpp"
#include "base/file_status.hpp"
#include "base/units.hpp"
#include "provision/providers/local/durable_files.hpp"
#include "provision/providers/local/node_process.hpp"
#include "provision/providers/local/node_tasks.hpp"
#include "provision/providers/local/orphans.hpp"
#include "provision/providers/local/overlay_place.hpp"
#include "provision/providers/local/records.hpp"
#include "provision/providers/local/site.hpp"

namespace fastgpu::provision {
namespace {

namespace fs = std::filesystem;
using namespace local;

bool may(std::span<const unsigned> capabilities) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  return std::ranges::all_of(capabilities, [&](unsigned capability) {
    return (data[capability / 32].effective >> capability % 32 & 1U) != 0;
  });
}

/// Removes everything of a cluster. `folder` may be empty: then only a bridge can exist.
void remove_all_of(const LocalConfig& config, const std::string& cluster, const fs::path& folder) {
  std::vector<LocalTask> tasks;
  if (!folder.empty())
    for (const int index : node_indices(folder))
      tasks.push_back({index, {"node " + std::to_string(index)}});
  end(folder, cluster, tasks, Ending::at_once);
  delete_folders(folder, tasks);
  for (const LocalTask& task : tasks)
    task.outcome.value();
  delete_bridge(cluster, find_mark(config));
  fault_point("local:bridge_deleted");
  if (!folder.empty()) remove_tree(folder);
  release_storage(config);
}

}  // namespace

LocalProvider::LocalProvider(LocalConfig config) : config_(std::move(config)) {}

void LocalProvider::check_usable() {
  constexpr unsigned kNeeded[] = {CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_MKNOD, CAP_CHOWN};
  if (::geteuid() != 0 || !may(kNeeded))
    throw Error(ErrorKind::denied,
                "local nodes need root privileges on this machine: run fastgpu as root, or use "
                "hosts that you have with --provider static");
  check_programs();
}

void LocalProvider::check_programs() const {
  find_sshd(config_);
  if (::access(config_.init_program.c_str(), X_OK) != 0)
    throw Error(ErrorKind::local,
                config_.init_program.string() +
                    " is missing, and local nodes need it: install fastgpu again");
}

void LocalProvider::describe_node(const state::Cluster& /*cluster*/, state::Node& node) const {
  check_index(node.index);
}

std::string LocalProvider::difference(const state::Cluster& there,
                                      const state::ProviderSpec& wanted) const {
  const auto rate_text = [](const state::LocalSpec& spec) {
    return spec.link_rate ? "link rate " + to_string(*spec.link_rate) : "no link rate";
  };
  const std::string now = rate_text(there.local());
  const std::string then = rate_text(std::get<state::LocalSpec>(wanted));
  return now == then ? "" : "with " + now + ", not " + then;
}

state::Network LocalProvider::prepare(const state::Cluster& cluster, bool /*may_be_there*/) {
  return state::HostNetwork{to_string(open_site(config_, cluster).network.record.subnet)};
}

Results LocalProvider::create(const state::Cluster& cluster, std::span<const NodeRequest> requests,
                              const Cancel& cancel) {
  for (const NodeRequest& request : requests)
    check_index(request.index);
  LocalSite site = open_site(config_, cluster);
  LocalClusterRecord& record = site.network.record;
  for (const NodeRequest& request : requests)
    record.nodes[request.index] = request.name.value;
  write_cluster(site.folder, record);
  fault_point("local:cluster_written");
  const ImagePlan plan = image_plan(site, config_, cluster.user);
  std::vector<LocalTask> tasks;
  for (const NodeRequest& request : requests)
    tasks.push_back({request.index, request.name});
  boot(
      site, config_, tasks, [&](std::size_t i) { prepare_node(site, plan, requests[i]); }, cancel);
  fault_point("local:booted");
  tell_hosts(site.folder, record);
  return results_of(tasks, site.folder, record, InstanceState::running);
}

std::vector<Instance> LocalProvider::list(const state::Cluster& cluster, const Cancel& /*cancel*/) {
  std::vector<Instance> instances;
  const fs::path folder = find_cluster_folder(config_, cluster.id.value);
  if (folder.empty()) return instances;
  const auto record = read_cluster(folder);
  if (!record) return instances;
  for (const int index : node_indices(folder)) {
    const fs::path node_folder = folder / std::to_string(index);
    const auto node = read_node(node_folder);
    const bool filled = node && node->image == NodeImageState::ready;
    const auto state = is_live(node_folder) ? InstanceState::running
                       : filled             ? InstanceState::stopped
                                            : InstanceState::pending;
    instances.push_back(instance_at(node_folder, *record, index, state));
  }
  return instances;
}

Results LocalProvider::start(const state::Cluster& cluster, std::span<const state::Node> nodes,
                             const Cancel& cancel) {
  const LocalSite site = open_site(config_, cluster);
  std::vector<LocalTask> tasks = tasks_for(nodes);
  boot(
      site, config_, tasks, [&](std::size_t i) { require_image(site, tasks[i].index); }, cancel);
  tell_hosts(site.folder, site.network.record);
  return results_of(tasks, site.folder, site.network.record, InstanceState::running);
}

Results LocalProvider::stop(const state::Cluster& cluster, std::span<const state::Node> nodes,
                            const Cancel& cancel) {
  cancel.check();
  const fs::path folder = find_cluster_folder(config_, cluster.id.value);
  std::vector<LocalTask> tasks = tasks_for(nodes);
  const auto record = folder.empty() ? std::nullopt : read_cluster(folder);
  if (!record)
    throw Error(ErrorKind::not_found,
                "cluster '" + cluster.name.value + "' has no nodes on this machine");
  end(folder, cluster.id.value, tasks, Ending::in_order);
  return results_of(tasks, folder, *record, InstanceState::stopped);
}

Results LocalProvider::destroy(const state::Cluster& cluster, std::span<const state::Node> nodes) {
  const fs::path folder = find_cluster_folder(config_, cluster.id.value);
  std::vector<LocalTask> tasks = tasks_for(nodes);
  auto record = folder.empty() ? std::nullopt : read_cluster(folder);
  if (path_exists(folder)) {
    end(folder, cluster.id.value, tasks, Ending::at_once);
    delete_folders(folder, tasks);
  }
  if (!record)
    return results_of(tasks, folder, {cluster.id.value, cluster.name.value, {}},
                      InstanceState::gone);
  for (const LocalTask& task : tasks)
    if (task.outcome.ok()) record->nodes.erase(task.index);
  try {
    write_cluster(folder, *record);
  } catch (const Error& e) {  // A full disk must not prevent making room.
    if (e.kind() != ErrorKind::capacity) throw;
  }
  fault_point("local:destroyed");
  tell_hosts(folder, *record);
  return results_of(tasks, folder, *record, InstanceState::gone);
}

std::optional<Error> LocalProvider::release(const state::Cluster& cluster,
                                            const ReleaseLimits& /*limits*/) {
  const fs::path folder = find_cluster_folder(config_, cluster.id.value);
  if (!folder.empty()) remove_all_of(config_, cluster.id.value, folder);
  return std::nullopt;
}

Orphans LocalProvider::orphans(std::span<const state::ClusterId> known) {
  return {.found = find_orphans(config_, known)};
}

void LocalProvider::remove_orphan(const Orphan& orphan) {
  end_marked_processes(config_, orphan.cluster.value);
  const fs::path folder = find_cluster_folder(config_, orphan.cluster.value);
  remove_all_of(config_, orphan.cluster.value, folder);
}

}  // namespace fastgpu::provision
