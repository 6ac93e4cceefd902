// Adds the keys of static clusters to their hosts and removes them, by the agent over SSH.
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "cli/workflows/private_agent.hpp"
#include "cli/workflows/services.hpp"
#include "cli/workflows/static_host_keys.hpp"
#include "provision/providers/static/host_access.hpp"
#include "provision/providers/static/hosts.hpp"
#include "ssh/host.hpp"

namespace fastgpu::cli {

class SshHostAccess final : public provision::HostAccess {
 public:
  explicit SshHostAccess(Services& services)
      : services_(services), known_places_(services.environment()("HOME").value_or("/")) {}

  Identities check(const state::Cluster& cluster, std::span<const provision::HostLogin> logins,
                   const Cancel& cancel) override;
  Identities identify(const state::Cluster& cluster, std::span<const provision::HostLogin> logins,
                      const Cancel& cancel) override;
  Outcomes open(const state::Cluster& cluster, std::span<const provision::HostLogin> logins,
                const std::string& public_key, const Cancel& cancel) override;
  Outcomes close(const state::Cluster& cluster,
                 std::span<const provision::HostLogin> logins) override;

 private:
  using Words = std::function<std::vector<std::string>(const provision::HostLogin& login)>;
  using Key = std::function<ssh::Host(const provision::HostLogin& login)>;

  /// The agent's standard output on each host.
  using Outputs = std::vector<HostResult<std::string>>;

  /// Runs the agent with the words that `words` returns on each host.
  Outputs call(std::span<const provision::HostLogin> logins, const Key& key, const Words& words,
               const Cancel& cancel);
  /// Runs the agent as the user, over libssh2. Uses OpenSSH's client for hosts that need it or that
  /// refuse libssh2.
  Outputs call_as_user(const state::Cluster& cluster, std::span<const provision::HostLogin> logins,
                       const Words& words, const Cancel& cancel);
  /// Returns the login to a host with the cluster's key.
  Key with_key_of(const state::Cluster& cluster) const;
  /// Returns the origin of a host's known keys, and what to do if it shows another one.
  ssh::KnownKeySource key_source(const state::Cluster& cluster, const ssh::Host& host);
  /// Returns the user's key files that have a passphrase and are not in an agent.
  std::vector<std::string> locked_keys(const provision::OpenSshUse& use);
  /// Asks at the terminal for the passphrases of the hosts' keys, once for each key.
  void unlock(std::span<const provision::StaticHost> hosts);
  Error explained(const Error& refusal, const provision::OpenSshUse& use);

  Services& services_;
  KnownPlaces known_places_;
  std::unique_ptr<PrivateAgent> agent_;
  std::set<std::string> asked_;  // The keys whose passphrases were requested.
};

}  // namespace fastgpu::cli
