// Carries out plans on nodes: all at once, each at its own step.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/host_result.hpp"
#include "base/secret.hpp"
#include "envs/drivers/nodes.hpp"

namespace fastgpu::envs {

/// Receives the events of an installation.
class DriverEvents {
 public:
  virtual ~DriverEvents() = default;
  virtual void started(const NodeName& node, const DriverStep& step) = 0;
  virtual void finished(const NodeName& node, const DriverStep& step) = 0;
  /// Reports a lock held by another process there, described by `why`; once for each lock.
  virtual void waiting(const NodeName& node, const Error& why) = 0;
};

enum class Reboots : std::uint8_t { automatic, never };

struct DriverInstallOptions {
  Reboots reboots = Reboots::automatic;
  std::chrono::milliseconds step_limit{std::chrono::minutes(60)};  ///< The limit of one command.
  /// The limit of a node's reboot.
  std::chrono::milliseconds reboot_limit{std::chrono::minutes(20)};
  /// The limit of the wait for a lock.
  std::chrono::milliseconds lock_limit{std::chrono::minutes(15)};
  std::chrono::milliseconds pause{3'000};  ///< The pause between two checks.
  std::optional<Secret> sudo_password{};   ///< The password for nodes whose sudo requires one.
};

/// The outcome on a node.
struct DriverOutcome {
  std::string driver{};  ///< The loaded driver; may be empty.
  /// The titles of the steps that ran, in order; empty if all was done before.
  std::vector<std::string> did;
  DriverPlan plan{};          ///< The last plan: all done, but for a pending reboot.
  bool wants_reboot = false;  ///< Only with Reboots::never.
};

/// Takes each node through its plan. After each step its facts are read again, and the step must
/// then be done. A second run after any failure, also one of ours, continues from the node's actual
/// state. Errors: as plan_on; denied if root's rights are needed and missing; for a failed command
/// capacity (disk full), conflict (a lock that was held too long), transient (the network) or
/// remote, with its output; timeout for a node that did not come back.
std::vector<HostResult<DriverOutcome>> install_on(const DriverNodes& nodes, const NodeGoal& goal,
                                                  const DriverInstallOptions& options,
                                                  DriverEvents& events);

}  // namespace fastgpu::envs
