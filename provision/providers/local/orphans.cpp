#include "provision/providers/local/orphans.hpp"

#include <csignal>
#include <filesystem>
#include <set>

#include "base/numbers.hpp"
#include "provision/providers/local/durable_files.hpp"
#include "provision/providers/local/links.hpp"
#include "provision/providers/local/node_process.hpp"
#include "provision/providers/local/overlay_place.hpp"
#include "provision/providers/local/site.hpp"

namespace fastgpu::provision::local {
namespace {

struct MarkedProcess {
  pid_t pid = 0;
  std::string cluster;
};

/// Returns the cluster out of the arguments "PROGRAM boot ROOT-ID/CLUSTER/INDEX", or "".
std::string cluster_of(const std::string& command_line, const std::string& root_id) {
  const std::string start = std::string("\0boot\0", 6) + root_id + "/";
  const std::size_t found = command_line.find(start);
  if (found == command_line.npos ||
      !std::string_view(command_line).substr(0, found).ends_with("fastgpu-node-init"))
    return {};
  const std::size_t begin = found + start.size();
  return command_line.substr(begin, command_line.find('/', begin) - begin);
}

std::string read_command_line(pid_t pid) {
  try {
    return read_file("/proc/" + std::to_string(pid) + "/cmdline").value_or("");
  } catch (const Error&) {
    return {};  // The process has just ended.
  }
}

std::vector<MarkedProcess> marked_processes(const std::string& root_id) {
  std::vector<MarkedProcess> found;
  for (const std::string& name : folders_in("/proc")) {
    const auto pid = to_number<pid_t>(name);
    if (!pid) continue;
    const std::string cluster = cluster_of(read_command_line(*pid), root_id);
    if (!cluster.empty()) found.push_back({*pid, cluster});
  }
  return found;
}

void end_process(const MarkedProcess& marked, const std::string& root_id) {
  const UniqueFd process = open_process(marked.pid);
  if (!process || cluster_of(read_command_line(marked.pid), root_id) != marked.cluster) return;
  signal_process(process, SIGKILL);
  ends_within(process, std::chrono::seconds(20));
}

}  // namespace

std::vector<Orphan> find_orphans(const LocalConfig& config,
                                 std::span<const state::ClusterId> known) {
  std::vector<Orphan> orphans;
  const auto root_id = find_root_id(config);
  if (!root_id) return orphans;
  std::set<std::string> seen;  // Clusters that are known, or found already.
  for (const state::ClusterId& id : known)
    seen.insert(id.value);
  const auto add = [&](Orphan::Kind kind, const std::string& id, const std::string& cluster) {
    if (!cluster.empty() && seen.insert(cluster).second) orphans.push_back({kind, id, {cluster}});
  };
  if (const auto storage = find_storage(config))
    for (const std::string& name : folders_in(*storage))
      add(Orphan::Kind::folder, (*storage / name).string(), name);
  for (const MarkedProcess& process : marked_processes(*root_id))
    add(Orphan::Kind::process, std::to_string(process.pid), process.cluster);
  NetlinkSocket socket;
  const std::string mark = find_mark(config);
  for (const NetworkInterface& link : list_links(socket))
    if (link.alias == mark) add(Orphan::Kind::bridge, link.name, cluster_of_bridge(link.name));
  return orphans;
}

void end_marked_processes(const LocalConfig& config, const std::string& cluster_id) {
  const auto root_id = find_root_id(config);
  if (!root_id) return;
  for (const MarkedProcess& marked : marked_processes(*root_id))
    if (marked.cluster == cluster_id) end_process(marked, *root_id);
}

}  // namespace fastgpu::provision::local
