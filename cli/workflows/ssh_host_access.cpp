#include "cli/workflows/ssh_host_access.hpp"

#include <algorithm>

#include "base/contains.hpp"
#include "base/quote.hpp"
#include "cli/workflows/cluster_hosts.hpp"
#include "launcher/fan_out.hpp"
#include "ssh/identity.hpp"

namespace fastgpu::cli {
namespace {

using provision::Granted;
using provision::HostLogin;
using AccessOutcomes = provision::HostAccess::Outcomes;
using AccessIdentities = provision::HostAccess::Identities;
using AgentOutputs = std::vector<HostResult<std::string>>;

constexpr std::chrono::milliseconds kAccessTimeout{60'000};  // Added to the connect timeout.

HostResult<std::string> output_of(const launcher::NodeAnswer& answer) {
  const HostResult<ssh::Exit> confirmed = launcher::confirmation(answer);
  if (!confirmed.ok()) return {confirmed.host, confirmed.error()};
  return {confirmed.host, answer.out};
}

AccessOutcomes granted(const AgentOutputs& outputs) {
  AccessOutcomes outcomes;
  for (const auto& output : outputs)
    if (output.ok())
      outcomes.push_back({output.host, Granted{}});
    else
      outcomes.push_back({output.host, output.error()});
  return outcomes;
}

AccessIdentities identities_in(const AgentOutputs& outputs) {
  AccessIdentities identities;
  for (const auto& output : outputs) {
    if (output.ok())
      identities.push_back({output.host, provision::HostIdentity{
                                             output.value().substr(0, output.value().find('\n'))}});
    else
      identities.push_back({output.host, output.error()});
  }
  return identities;
}

/// Returns true for a temporary error, which another key would not change.
bool is_passing(ErrorKind kind) {
  return kind == ErrorKind::transient || kind == ErrorKind::timeout;
}

}  // namespace

AccessIdentities SshHostAccess::check(const state::Cluster& cluster,
                                      std::span<const HostLogin> logins, const Cancel& cancel) {
  const auto words = [](const HostLogin&) { return std::vector<std::string>{"access-check"}; };
  return identities_in(call_as_user(cluster, logins, words, cancel));
}

AccessIdentities SshHostAccess::identify(const state::Cluster& cluster,
                                         std::span<const HostLogin> logins, const Cancel& cancel) {
  const auto words = [](const HostLogin&) { return std::vector<std::string>{"access-identify"}; };
  return identities_in(call(logins, with_key_of(cluster), words, cancel));
}

SshHostAccess::Key SshHostAccess::with_key_of(const state::Cluster& cluster) const {
  return [this, &cluster](const HostLogin& login) {
    return to_host(services_.store(), cluster, login.node);
  };
}

AccessOutcomes SshHostAccess::open(const state::Cluster& cluster, std::span<const HostLogin> logins,
                                   const std::string& public_key, const Cancel& cancel) {
  const auto words = [&](const HostLogin& login) {
    return std::vector<std::string>{"access-add", public_key + " " + login.mark};
  };
  return granted(call_as_user(cluster, logins, words, cancel));
}

AccessOutcomes SshHostAccess::close(const state::Cluster& cluster,
                                    std::span<const HostLogin> logins) {
  const auto words = [&](const HostLogin& login) {
    return std::vector<std::string>{"access-remove", login.mark, cluster.id.value};
  };
  const Cancel never;  // The caller may clean up after a cancel, which must not stop this.
  AccessOutcomes outcomes = granted(call(logins, with_key_of(cluster), words, never));
  // A host that refuses the cluster's key is asked again with the user's own keys: the cluster's
  // key was removed already, or never added.
  std::vector<HostLogin> shut;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].ok() || is_passing(outcomes[i].error().kind())) continue;
    shut.push_back(logins[i]);
    places.push_back(i);
  }
  const AccessOutcomes again = granted(call_as_user(cluster, shut, words, never));
  for (std::size_t i = 0; i < again.size(); ++i)
    outcomes[places[i]] = again[i];
  return outcomes;
}

std::vector<std::string> SshHostAccess::locked_keys(const provision::OpenSshUse& use) {
  std::vector<std::string> files{use.identity};
  if (use.identity.empty()) {
    const auto home = std::filesystem::path(services_.environment()("HOME").value_or("/")) / ".ssh";
    files = {home / "id_rsa", home / "id_ecdsa", home / "id_ed25519"};
  }
  std::erase_if(files, [&](const std::string& file) {
    return ssh::identity_kind(file) != ssh::IdentityKind::locked || agent_has(services_, file);
  });
  return files;
}

void SshHostAccess::unlock(std::span<const provision::StaticHost> hosts) {
  std::vector<std::string> keys;
  for (const provision::StaticHost& host : hosts)
    for (const std::string& key : locked_keys(*host.openssh))
      if (asked_.insert(key).second) keys.push_back(key);
  if (keys.empty() || !services_.can_ask()) return;
  if (!agent_) agent_ = std::make_unique<PrivateAgent>(services_);
  agent_->add(keys);
}

Error SshHostAccess::explained(const Error& refusal, const provision::OpenSshUse& use) {
  const auto locked = agent_ ? std::vector<std::string>() : locked_keys(use);
  if (locked.empty() || refusal.kind() != ErrorKind::denied) return refusal;
  return {ErrorKind::denied, std::string(refusal.what()) + "; " + locked.front() +
                                 " has a passphrase: load it into an agent with ssh-add, or run "
                                 "this at a terminal, which asks for it"};
}

ssh::KnownKeySource SshHostAccess::key_source(const state::Cluster& cluster,
                                              const ssh::Host& host) {
  const bool is_made = services_.store().find_cluster(cluster.id).has_value();
  const std::string start = "`fastgpu start cluster " + cluster.name.value + " --accept-host-keys`";
  const auto& in_known_hosts = known_places_.of(host.address, host.port).keys;
  const bool is_known = std::ranges::any_of(
      host.host_keys, [&](const std::string& key) { return contains(in_known_hosts, key); });
  if (!is_known && is_made)
    return {"which cluster " + cluster.name.value + " has pinned",
            "if it was installed anew: " + start};
  if (!is_known)
    return {"which the cluster file has",
            "if it was installed anew, write its new key into the file"};
  const std::string name =
      host.port == 22 ? host.address : "[" + host.address + "]:" + std::to_string(host.port);
  return {"which known_hosts has", "if it was installed anew: `ssh-keygen -R " + shell_quote(name) +
                                       "`, then " + (is_made ? start : "use --accept-host-keys")};
}

AgentOutputs SshHostAccess::call_as_user(const state::Cluster& cluster,
                                         std::span<const HostLogin> logins, const Words& words,
                                         const Cancel& cancel) {
  if (logins.empty()) return {};
  const std::vector<provision::StaticHost>& hosts = cluster.hosts();
  const auto listed = [&](const HostLogin& login) -> const provision::StaticHost& {
    return hosts.at(static_cast<std::size_t>(login.node.index));
  };
  const auto as_user = [&](const HostLogin& login, bool by_client) {
    ssh::Host host = to_host(services_.store(), {}, login.node);
    host.identity = login.node.identity_file;
    host.key_source = key_source(cluster, host);
    for (ssh::Host& jump : host.jumps)
      jump.key_source = key_source(cluster, jump);
    provision::StaticHost way = listed(login);
    if (!by_client) way.openssh.reset();
    apply_listed(way, ssh::Login::as_user, host);
    if (host.openssh && agent_) host.openssh->agent = agent_->socket();
    return host;
  };
  const auto needs_client = [&](const HostLogin& login) {
    const auto& use = listed(login).openssh;
    return use && (use->first || use->always);
  };
  std::vector<provision::StaticHost> for_client;
  for (const HostLogin& login : logins)
    if (needs_client(login)) for_client.push_back(listed(login));
  unlock(for_client);
  AgentOutputs outcomes = call(
      logins, [&](const HostLogin& login) { return as_user(login, needs_client(login)); }, words,
      cancel);
  std::vector<HostLogin> refused;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].ok() || !listed(logins[i]).openssh) continue;
    if (needs_client(logins[i])) {
      outcomes[i] = {outcomes[i].host, explained(outcomes[i].error(), *listed(logins[i]).openssh)};
    } else if (outcomes[i].error().kind() == ErrorKind::denied) {
      refused.push_back(logins[i]);
      places.push_back(i);
    }
  }
  // OpenSSH's client may log in where libssh2 could not: with an agent, a certificate or another
  // key.
  const AgentOutputs again = call(
      refused, [&](const HostLogin& login) { return as_user(login, true); }, words, cancel);
  for (std::size_t i = 0; i < again.size(); ++i)
    if (again[i].ok()) outcomes[places[i]] = again[i];
  return outcomes;
}

AgentOutputs SshHostAccess::call(std::span<const HostLogin> logins, const Key& key,
                                 const Words& words, const Cancel& cancel) {
  if (logins.empty()) return {};
  const remote::AgentProgram& agent = services_.agent();
  std::vector<launcher::NodeTask> tasks;
  for (const HostLogin& login : logins)
    tasks.push_back(
        {.host = key(login), .command = remote::agent_command(agent.hash, words(login))});
  const auto limit = kAccessTimeout + services_.settings().duration("connect-timeout");
  AgentOutputs outputs;
  for (const auto& answer : launcher::ask_agent(services_.ssh(), tasks, agent, limit, cancel))
    outputs.push_back(output_of(answer));
  return outputs;
}

}  // namespace fastgpu::cli
