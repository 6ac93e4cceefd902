// The keys of static clusters on their hosts, put there and taken away by the agent over SSH.
#pragma once

#include <functional>

#include "cli/context.hpp"
#include "provision/providers/static/host_access.hpp"
#include "ssh/host.hpp"

namespace fastgpu::cli {

class SshHostAccess final : public provision::HostAccess {
 public:
  explicit SshHostAccess(Context& context) : context_(context) {}

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
  /// With the user's own key.
  Outcomes call_as_user(std::span<const provision::HostDoor> doors, const Words& words,
                        const Cancel& cancel);

  Context& context_;
};

}  // namespace fastgpu::cli
