#include "cli/cluster_tools.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "base/counted.hpp"
#include "cli/host_keys.hpp"
#include "cli/node_storage.hpp"
#include "provision/cloud/cloud_spec.hpp"
#include "provision/providers.hpp"
#include "provision/providers/local/rootless/world.hpp"
#include "ssh/keys.hpp"
#include "ssh/reachable.hpp"
#include "state/directory.hpp"

namespace fastgpu::cli {
namespace {

using std::chrono::milliseconds;
using Outcomes = std::vector<HostResult<provision::Reached>>;

// Keys lie on a node before its sshd starts, so a refusal is no matter of waiting long.
constexpr milliseconds kDeniedLimit{5'000};
constexpr milliseconds kFirstPause{20};  // A node of this machine is there at once.
constexpr milliseconds kLongestWait{24 * 3'600'000};
constexpr milliseconds kKeyLimit{60'000};           // To make a host key, or to have sshd read it.
constexpr milliseconds kStorageLimit{15 * 60'000};  // With the installation of an NFS client.

/// Our key lies on a static host by now.
Error explained(const state::Cluster& cluster, const Error& e) {
  if (cluster.provider != "static" || e.kind() != ErrorKind::denied) return e;
  return {e.kind(), std::string(e.what()) +
                        ", though it stands in ~/.ssh/authorized_keys there: "
                        "does its sshd read that file (AuthorizedKeysFile)?"};
}

}  // namespace

void SystemClock::sleep(milliseconds duration) {
  pollfd stop{cancel_.fd(), POLLIN, 0};
  ::poll(&stop, 1, static_cast<int>(std::max<milliseconds::rep>(0, duration.count())));
}

provision::KeyPair SshKeyMaker::make(std::string_view comment) {
  ssh::KeyPair made = ssh::generate_key_pair(comment);
  return {std::move(made.private_key), std::move(made.public_key)};
}

void ProgressEvents::step_started(std::string_view step) {
  try {
    ui_.progress(step);
  } catch (const Error&) {  // Progress that nobody can read stops nothing.
  }
}

void ProgressEvents::step_finished(std::string_view) {
  ui_.end_progress();
}

void ProgressEvents::moving_on(std::string_view reason) {
  try {
    ui_.end_progress();
    ui_.note(std::string(reason) + ": trying the next place");
  } catch (const Error&) {  // The next place is tried unseen.
  }
}

void ProgressEvents::replacing(std::string_view reason) {
  try {
    ui_.end_progress();
    ui_.note(std::string(reason) + ": asking for others");
  } catch (const Error&) {  // They are asked for unseen.
  }
}

void ProgressEvents::shrunk(std::size_t wanted, std::size_t got) {
  try {
    ui_.end_progress();
    ui_.warn("no place has room for " + counted(wanted, "node") + ": going on with " +
             std::to_string(got));
  } catch (const Error&) {  // The cluster begins unannounced.
  }
}

void ProgressEvents::left_behind(std::string_view sentence) {
  try {
    ui_.warn(sentence);
  } catch (const Error&) {  // The removal goes on.
  }
}

Outcomes SshReachability::wait(const state::Cluster& cluster, std::span<const state::Node> nodes,
                               Clock::time_point deadline, const Cancel& cancel) {
  const ClusterHosts where(store_, cluster);
  std::vector<ssh::Host> hosts;
  for (const state::Node& node : nodes)
    hosts.push_back(where.of(node));
  const auto left =
      std::chrono::duration_cast<milliseconds>(deadline - std::min(clock_.now(), deadline));
  const ssh::ReachOptions options{.limit = std::min(left, kLongestWait),
                                  .first_pause = kFirstPause,
                                  .denied_limit = kDeniedLimit};
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

bool has_head_alone(const state::Cluster& cluster) {
  namespace cloud = provision::cloud;
  return provision::is_cloud(cluster.provider) &&
         cloud::parse_cloud_spec(cluster.spec_json).public_address == cloud::PublicAddress::head;
}

bool is_behind_head(const state::Node& node) {
  return node.index != provision::cloud::kHead && node.address == node.private_address;
}

ClusterHosts::ClusterHosts(const state::Store& store, state::Cluster cluster)
    : directory_(store.directory()), cluster_(std::move(cluster)) {
  if (cluster_.provider == "static") listed_ = provision::parse_spec_json(cluster_);
  if (!has_head_alone(cluster_)) return;
  const std::vector<state::Node> nodes = store.nodes(cluster_.id);
  if (!nodes.empty()) head_ = without_head(nodes.front());
}

ssh::Host ClusterHosts::of(const state::Node& node) const {
  ssh::Host host = without_head(node);
  if (head_ && is_behind_head(node)) host.jumps = {*head_};
  return host;
}

launcher::Peer ClusterHosts::peer(const state::Node& node) const {
  launcher::Peer peer{.address = node.private_address.empty() ? node.address : node.private_address,
                      .port = node.port,
                      .user = node.user.empty() ? cluster_.user : node.user,
                      .host_keys = node.host_keys};
  const auto index = static_cast<std::size_t>(node.index);
  if (index < listed_.size() && !listed_[index].inner.empty()) {
    peer.address = listed_[index].inner;
    peer.port = listed_[index].inner_port;
  }
  return peer;
}

ssh::Host ClusterHosts::without_head(const state::Node& node) const {
  const std::filesystem::path key = state::identity_file(directory_, cluster_.id);
  const std::filesystem::path own = node.identity_file;
  ssh::Host host{.name = node.name,
                 .address = node.address,
                 .port = node.port,
                 .user = node.user.empty() ? cluster_.user : node.user,
                 .identity = key,
                 .host_keys = node.host_keys};
  if (cluster_.provider == "local" && ::geteuid() != 0)
    host.door = provision::local::world_door(provision::local::world_folder(directory_));
  for (const state::JumpHost& jump : node.jumps)
    host.jumps.push_back({.name = {jump.address},
                          .address = jump.address,
                          .port = jump.port,
                          .user = jump.user,
                          .identity = own.empty() ? key : own,
                          .host_keys = jump.host_keys});
  const auto index = static_cast<std::size_t>(node.index);
  if (index < listed_.size()) apply_listed(listed_[index], ssh::Login::with_identity, host);
  return host;
}

void apply_listed(const provision::StaticHost& listed, ssh::Login who, ssh::Host& host) {
  for (std::size_t i = 0; i < std::min(host.jumps.size(), listed.jumps.size()); ++i)
    if (!listed.jumps[i].identity.empty()) host.jumps[i].identity = listed.jumps[i].identity;
  if (!listed.openssh || (who == ssh::Login::with_identity && !listed.openssh->always)) return;
  host.openssh = {.login = who,
                  .name = listed.openssh->name,
                  .config = listed.openssh->config,
                  .proxy = listed.openssh->proxy,
                  .agent = {}};
  if (who == ssh::Login::as_user) host.identity = listed.openssh->identity;
  // Jump hosts take the user's key, also when the host behind them takes the cluster's.
  for (std::size_t i = 0; i < std::min(host.jumps.size(), listed.jumps.size()); ++i) {
    const std::string& own = listed.jumps[i].identity;
    host.jumps[i].identity = own.empty() ? listed.openssh->identity : own;
    host.jumps[i].openssh = {.login = ssh::Login::as_user,
                             .name = {},
                             .config = listed.openssh->config,
                             .proxy = {},
                             .agent = {}};
  }
}

ssh::Host to_host(const state::Store& store, const state::Cluster& cluster,
                  const state::Node& node) {
  return ClusterHosts(store, cluster).of(node);
}

}  // namespace fastgpu::cli
