// The keys of static clusters on their hosts, added and removed by the agent over SSH.
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "cli/workflows/private_agent.hpp"
#include "cli/workflows/services.hpp"
#include "provision/providers/static/host_access.hpp"
#include "provision/providers/static/hosts.hpp"
#include "ssh/host.hpp"

namespace fastgpu::cli {

class SshHostAccess final : public provision::HostAccess {
 public:
  explicit SshHostAccess(Services& services) : services_(services) {}

  Outcomes check(const state::Cluster& cluster, std::span<const provision::HostDoor> doors,
                 const Cancel& cancel) override;
  Outcomes open(const state::Cluster& cluster, std::span<const provision::HostDoor> doors,
                const std::string& public_key, const Cancel& cancel) override;
  Outcomes close(const state::Cluster& cluster,
                 std::span<const provision::HostDoor> doors) override;

 private:
  using Words = std::function<std::vector<std::string>(const provision::HostDoor& door)>;
  using Key = std::function<ssh::Host(const provision::HostDoor& door)>;

  /// Calls the agent with those words on each host.
  Outcomes call(std::span<const provision::HostDoor> doors, const Key& key, const Words& words,
                const Cancel& cancel);
  /// Calls the agent as the user, by libssh2. Hosts that need OpenSSH's client, or that refuse
  /// libssh2, are called by that client.
  Outcomes call_as_user(const state::Cluster& cluster, std::span<const provision::HostDoor> doors,
                        const Words& words, const Cancel& cancel);
  /// Returns the user's keys that have a passphrase and are in no agent.
  std::vector<std::string> locked_keys(const provision::OpenSshUse& use);
  /// Unlocks keys of the hosts by asking at the terminal, each once.
  void unlock(std::span<const provision::StaticHost> hosts);
  Error explained(const Error& refusal, const provision::OpenSshUse& use);

  Services& services_;
  std::unique_ptr<PrivateAgent> agent_;
  std::set<std::string> asked_;  // The keys that the user was asked to unlock.
};

}  // namespace fastgpu::cli
