#include "cli/workflows/changed_host_keys.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "cli/workflows/ssh_host_access.hpp"
#include "cli/workflows/static_host_keys.hpp"
#include "cli/workflows/user_ssh.hpp"
#include "provision/cluster_keys.hpp"
#include "provision/failures.hpp"
#include "provision/providers.hpp"
#include "provision/providers/static/static_provider.hpp"
#include "ssh/host_key_failure.hpp"
#include "ssh/keys.hpp"
#include "state/lock.hpp"

namespace fastgpu::cli {
namespace {

using provision::HostLogin;
using provision::StaticHost;

std::string fingerprints(const std::vector<std::string>& keys) {
  std::string list;
  for (const std::string& key : keys)
    append_item(list, ssh::fingerprint(key), " or ");
  return list;
}

/// Makes known_hosts be read by the name that the user's configuration gives the host.
void take_alias(const UserSsh& ssh, const StaticHost& host, KnownPlaces& known) {
  if (!host.openssh || !ssh.is_there()) return;
  const UserSshHost found =
      ssh.of(host.openssh->name, {.port = host.port, .user = host.user, .identity = host.identity});
  if (!found.host_key_alias.empty()) known.call(host.address, host.port, found.host_key_alias);
}

/// Returns the same hosts with their present keys, and with those of their jump hosts.
std::vector<StaticHost> with_present_keys(Services& services, std::vector<StaticHost> hosts) {
  KnownPlaces known(std::filesystem::path(services.environment()("HOME").value_or("/")));
  const UserSsh ssh(services);
  for (StaticHost& host : hosts) {
    take_alias(ssh, host, known);
    host.host_keys.clear();
    for (provision::StaticJump& jump : host.jumps)
      jump.host_keys.clear();
  }
  find_host_keys(services, hosts, known, UnknownHosts::accept);
  return hosts;
}

std::vector<HostLogin> logins_of(const provision::StaticProvider& provider,
                                 const state::Cluster& cluster, const std::vector<int>& indexes) {
  std::vector<HostLogin> logins;
  for (const int index : indexes)
    logins.push_back(provider.login_of(cluster, index));
  return logins;
}

/// Returns the indexes of the listed hosts that show another key than the pinned one.
std::vector<int> find_changed(provision::HostAccess& access,
                              const provision::StaticProvider& provider,
                              const state::Cluster& cluster, const Cancel& cancel) {
  std::vector<int> all;
  for (int index = 0; index < static_cast<int>(cluster.hosts().size()); ++index)
    all.push_back(index);
  const auto answers = access.check(cluster, logins_of(provider, cluster, all), cancel);
  cancel.check();
  std::erase_if(all, [&](int index) {
    const auto& answer = answers.at(static_cast<std::size_t>(index));
    return answer.ok() || !ssh::is_foreign_host_key(answer.error());
  });
  return all;
}

/// Opens the hosts that are nodes to the cluster's key, and logs in to the others.
void open_again(Services& services, provision::HostAccess& access,
                const std::vector<HostLogin>& logins, const state::Cluster& cluster,
                const std::vector<state::Node>& nodes) {
  const auto key = provision::authorized_key(services.store().directory(), cluster.id);
  if (!key)
    throw Error(ErrorKind::local, "the key of cluster '" + cluster.name.value + "' is missing");
  std::vector<HostLogin> of_nodes, others;
  for (const HostLogin& login : logins)
    (contains(nodes, login.node.index, &state::Node::index) ? of_nodes : others).push_back(login);
  std::vector<provision::NodeFailure> failures;
  provision::add_failures(failures, access.check(cluster, others, services.cancel()));
  provision::add_failures(failures, access.open(cluster, of_nodes, *key, services.cancel()));
  services.cancel().check();
  provision::throw_failures("logging in to hosts with another key", failures);
}

}  // namespace

void pin_changed_host_keys(Services& services, const provision::Tools& tools,
                           const ClusterName& name) {
  const state::ClusterLock lock(services.store(), name, tools.lock_timeout, services.cancel());
  const auto found = services.store().find_cluster(name);
  if (!found) throw Error(ErrorKind::not_found, "there is no cluster '" + name.value + "'");
  state::Cluster cluster = *found;
  if (!provision::provider_info(cluster.provider).needs_hosts_file)
    throw Error(ErrorKind::usage, "--accept-host-keys is for static hosts, and cluster '" +
                                      name.value + "' is made of machines of " + cluster.provider +
                                      ", to which fastgpu gives their keys: do not trust one " +
                                      "with another key, and delete the cluster");
  SshHostAccess access(services);
  const provision::StaticProvider provider(access);
  services.messages().progress("comparing the host keys of " + name.value);
  const std::vector<int> changed = find_changed(access, provider, cluster, services.cancel());
  services.messages().end_progress();
  if (changed.empty()) return services.messages().note("no host key has changed");
  std::vector<StaticHost> hosts = cluster.hosts();
  std::vector<StaticHost> present;
  for (const int index : changed)
    present.push_back(hosts.at(static_cast<std::size_t>(index)));
  present = with_present_keys(services, std::move(present));
  for (std::size_t i = 0; i < changed.size(); ++i)
    hosts.at(static_cast<std::size_t>(changed[i])) = present[i];
  cluster.provider_spec = state::StaticSpec{.hosts = std::move(hosts)};
  const std::vector<state::Node> nodes = services.store().nodes(cluster.id);
  const std::vector<HostLogin> logins = logins_of(provider, cluster, changed);
  open_again(services, access, logins, cluster, nodes);
  services.store().atomically([&] {
    services.store().update_cluster(cluster);
    for (state::Node node : nodes)
      if (contains(changed, node.index)) {
        provider.describe_node(cluster, node);
        services.store().put_node(node);
      }
  });
  for (std::size_t i = 0; i < changed.size(); ++i)
    services.messages().warn(
        logins[i].node.name.value + ": its pinned key " +
        fingerprints(found->hosts().at(static_cast<std::size_t>(changed[i])).host_keys) +
        " is replaced by " + fingerprints(present[i].host_keys));
}

}  // namespace fastgpu::cli
