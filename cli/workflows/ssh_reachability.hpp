// Nodes awaited and set up over SSH.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "launcher/fan_out.hpp"
#include "provision/tools.hpp"
#include "ssh/client.hpp"

namespace fastgpu::cli {

/// Waits for nodes by running `true` on each until that succeeds, and runs the scripts that nodes
/// are set up by.
class SshReachability final : public provision::Reachability, public provision::NodeSetup {
 public:
  SshReachability(ssh::Client& client, Clock& clock, const state::Store& store)
      : client_(client), clock_(clock), store_(store) {}

  std::vector<HostResult<provision::Reached>> wait(const state::Cluster& cluster,
                                                   std::span<const state::Node> nodes,
                                                   Clock::time_point deadline, const Cancel& cancel,
                                                   const std::function<void()>& look) override;
  std::vector<HostResult<std::string>> make_host_keys(const state::Cluster& cluster,
                                                      std::span<const state::Node> nodes,
                                                      const Cancel& cancel) override;
  std::vector<HostResult<provision::Reached>> show_host_keys(const state::Cluster& cluster,
                                                             std::span<const state::Node> nodes,
                                                             const Cancel& cancel) override;
  std::vector<HostResult<provision::Reached>> attach_storage(const state::Cluster& cluster,
                                                             std::span<const state::Node> nodes,
                                                             const provision::Storage& storage,
                                                             const Cancel& cancel) override;

 private:
  std::vector<launcher::NodeAnswer> ask(
      const state::Cluster& cluster, std::span<const state::Node> nodes,
      const std::function<std::string(const state::Node&)>& command,
      std::chrono::milliseconds limit, const Cancel& cancel);

  ssh::Client& client_;
  Clock& clock_;
  const state::Store& store_;
};

}  // namespace fastgpu::cli
