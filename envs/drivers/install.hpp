// Plans carried out on nodes: all of them at once, each at its own step.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/host_result.hpp"
#include "base/secret.hpp"
#include "envs/drivers/nodes.hpp"

namespace fastgpu::envs {

/// Told what happens.
class DriverEvents {
 public:
  virtual ~DriverEvents() = default;
  virtual void started(const NodeName& node, const Step& step) = 0;
  virtual void finished(const NodeName& node, const Step& step) = 0;
  /// Another holds a lock there, as `why` says; once for each lock that a command waits for.
  virtual void waiting(const NodeName& node, const Error& why) = 0;
};

enum class Reboots : std::uint8_t { automatic, never };

struct InstallOptions {
  Reboots reboots = Reboots::automatic;
  std::chrono::milliseconds step_limit{std::chrono::minutes(60)};    ///< For one command.
  std::chrono::milliseconds reboot_limit{std::chrono::minutes(20)};  ///< Until a node is back.
  std::chrono::milliseconds lock_limit{std::chrono::minutes(15)};    ///< Until a lock is free.
  std::chrono::milliseconds pause{3'000};  ///< Between looks at what is waited for.
  std::optional<Secret> sudo_password{};   ///< For the nodes whose sudo asks for one.
};

/// What became of a node.
struct DriverOutcome {
  std::string driver{};          ///< That is loaded; empty: none.
  std::vector<std::string> did;  ///< Titles of the steps that ran, in order; none: all was done.
  Plan plan{};                   ///< The last one: all done, but where a reboot is still to come.
  bool wants_reboot = false;     ///< Only with Reboots::never.
};

/// Takes each node through its plan: after each step its facts are read again, and a step that ran
/// must then be done. Run again after any failure, also one of ours, it goes on where things stand.
/// Errors: as plan_on; denied where root's rights are needed and cannot be had; for a command that
/// failed capacity (disk full), conflict (a lock that was held too long), transient (the network)
/// or remote, with what it said; timeout for a node that did not come back.
std::vector<HostResult<DriverOutcome>> install_on(const DriverNodes& nodes, const NodeGoal& goal,
                                                  const InstallOptions& options,
                                                  DriverEvents& events);

}  // namespace fastgpu::envs
