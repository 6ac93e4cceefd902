// Waits for machines that are still booting.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <vector>

#include "ssh/client.hpp"

namespace fastgpu::ssh {

struct Reachable {};

struct ReachOptions {
  std::chrono::milliseconds limit{300'000};
  std::chrono::milliseconds first_pause{100};  ///< Doubled after each attempt, up to last_pause.
  std::chrono::milliseconds last_pause{2'000};
  /// How long a host may refuse our key or show another key. While a machine boots, sshd may be up
  /// before the keys are in place.
  std::chrono::milliseconds denied_limit{30'000};
  /// Called for each host as it answers.
  std::function<void(const NodeName&)> on_reachable{};
  /// Called between attempts, at most once in look_every. Its exception ends the wait.
  std::function<void()> look{};
  std::chrono::milliseconds look_every{10'000};
};

/// Tries to log in, without a command, until each host accepts the login. A host that does not in
/// time gets ErrorKind::timeout with its last failure, or denied. The attempt that the limit cuts
/// off is not its last failure if another one has failed before.
std::vector<HostResult<Reachable>> wait_until_reachable(Client& client, std::span<const Host> hosts,
                                                        const ReachOptions& options,
                                                        const Cancel& cancel);

}  // namespace fastgpu::ssh
