#include "cli/workflows/ssh_reachability.hpp"

#include <algorithm>

#include "cli/workflows/cluster_hosts.hpp"
#include "cli/workflows/node_scripts/host_keys.hpp"
#include "cli/workflows/node_scripts/storage_script.hpp"
#include "provision/providers.hpp"
#include "ssh/reachable.hpp"

namespace fastgpu::cli {
namespace {

using std::chrono::milliseconds;
using Outcomes = std::vector<HostResult<provision::Reached>>;

// Keys are on a node before its sshd starts, so that a refused login does not improve for long.
constexpr milliseconds kDeniedLimit{5'000};
constexpr milliseconds kFirstPause{20};  // A local node starts at once.
constexpr milliseconds kLongestWait{24 * 3'600'000};
constexpr milliseconds kKeyLimit{60'000};  // Timeout for making a host key, or for sshd to load it.
constexpr milliseconds kStorageLimit{15 * 60'000};  // Includes the installation of an NFS client.

/// Adds a hint to a refused login on a static host, where our key has been installed before.
Error explained(const state::Cluster& cluster, const Error& e) {
  if (!provision::provider_info(cluster.provider).needs_hosts_file || e.kind() != ErrorKind::denied)
    return e;
  return {e.kind(),
          std::string(e.what()) +
              ", although it is in ~/.ssh/authorized_keys there: does its sshd read that "
              "file (AuthorizedKeysFile), and is HOME as the account has it after ~/.bashrc?"};
}

}  // namespace

Outcomes SshReachability::wait(const state::Cluster& cluster, std::span<const state::Node> nodes,
                               Clock::time_point deadline, const Cancel& cancel,
                               const std::function<void()>& look) {
  const ClusterHosts where(store_, cluster);
  std::vector<ssh::Host> hosts;
  for (const state::Node& node : nodes)
    hosts.push_back(where.of(node));
  const auto left =
      std::chrono::duration_cast<milliseconds>(deadline - std::min(clock_.now(), deadline));
  const ssh::ReachOptions options{.limit = std::min(left, kLongestWait),
                                  .first_pause = kFirstPause,
                                  .denied_limit = kDeniedLimit,
                                  .look = look};
  Outcomes out;
  for (const auto& reached : ssh::wait_until_reachable(client_, hosts, options, cancel)) {
    if (reached.ok())
      out.push_back({reached.host, provision::Reached{}});
    else
      out.push_back({reached.host, explained(cluster, reached.error())});
  }
  return out;
}

std::vector<launcher::NodeAnswer> SshReachability::ask(
    const state::Cluster& cluster, std::span<const state::Node> nodes,
    const std::function<std::string(const state::Node&)>& command, milliseconds limit,
    const Cancel& cancel) {
  const ClusterHosts where(store_, cluster);
  std::vector<launcher::NodeTask> tasks;
  for (const state::Node& node : nodes)
    tasks.push_back({where.of(node), command(node)});
  return launcher::ask(client_, tasks, limit, cancel);
}

std::vector<HostResult<std::string>> SshReachability::make_host_keys(
    const state::Cluster& cluster, std::span<const state::Node> nodes, const Cancel& cancel) {
  std::vector<HostResult<std::string>> results;
  for (const auto& answer : ask(cluster, nodes, make_host_key_command, kKeyLimit, cancel))
    results.push_back(host_key_in(answer));
  return results;
}

Outcomes SshReachability::show_host_keys(const state::Cluster& cluster,
                                         std::span<const state::Node> nodes, const Cancel& cancel) {
  Outcomes results;
  for (const auto& answer : ask(cluster, nodes, show_host_key_command, kKeyLimit, cancel))
    results.push_back(host_key_shown(answer));
  return results;
}

Outcomes SshReachability::attach_storage(const state::Cluster& cluster,
                                         std::span<const state::Node> nodes,
                                         const provision::Storage& storage, const Cancel& cancel) {
  const auto command = [&](const state::Node& node) { return storage_command(node, storage); };
  Outcomes results;
  for (const auto& answer : ask(cluster, nodes, command, kStorageLimit, cancel))
    results.push_back(storage_attached(answer));
  return results;
}

}  // namespace fastgpu::cli
