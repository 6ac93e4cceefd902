// Plans carried out on nodes: all of them at once, each at its own step.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/host_result.hpp"
#include "envs/drivers/goal.hpp"
#include "remote/agent.hpp"
#include "ssh/client.hpp"

namespace fastgpu::envs {

/// The nodes, and how to reach them. Everything is borrowed.
struct DriverNodes {
  ssh::Client& client;
  std::span<const ssh::Host> hosts;
  const remote::AgentProgram& agent;
  Clock& clock;
  const Cancel& cancel;
  int width = 64;
  std::chrono::milliseconds connect_timeout{10'000};
};

/// Told what happens.
class DriverEvents {
 public:
  virtual ~DriverEvents() = default;
  virtual void started(const NodeName& node, const Step& step) = 0;
  virtual void finished(const NodeName& node, const Step& step) = 0;
  /// Another holds a lock there, as `why` says; once for each command.
  virtual void waiting(const NodeName& node, const Error& why) = 0;
};

enum class Reboots : std::uint8_t { automatic, never };

struct InstallOptions {
  Reboots reboots = Reboots::automatic;
  std::chrono::milliseconds step_limit{std::chrono::minutes(60)};    ///< For one command.
  std::chrono::milliseconds reboot_limit{std::chrono::minutes(20)};  ///< Until a node is back.
  std::chrono::milliseconds lock_limit{std::chrono::minutes(15)};    ///< Until a lock is free.
  std::chrono::milliseconds pause{3'000};  ///< Between looks at what is waited for.
};

/// What became of a node.
struct DriverOutcome {
  std::string driver{};          ///< That is loaded; empty: none.
  std::vector<std::string> did;  ///< Titles of the steps that ran, in order; none: all was done.
  Plan plan{};                   ///< The last one: all done, but where a reboot is still to come.
  bool wants_reboot = false;     ///< Only with Reboots::never.
};

struct Planned {
  NodeFacts facts;
  Plan plan;
};

/// What install_on would do, and nothing done. `assume` says what the plan is to take for facts
/// (with_assumed_gpus), or is empty. Errors as envs::probe, `assume` and the goal's plan.
std::vector<HostResult<Planned>> plan_on(const DriverNodes& nodes, const NodeGoal& goal,
                                         const std::function<NodeFacts(NodeFacts)>& assume = {});

/// Takes each node through its plan: after each step its facts are read again, and a step that ran
/// must then be done. Run again after any failure, also one of ours, it goes on where things stand.
/// Errors: as plan_on; denied where root's rights cannot be had; for a command that failed capacity
/// (disk full), conflict (a lock that was held too long), transient (the network) or remote, with
/// what it said; timeout for a node that did not come back.
std::vector<HostResult<DriverOutcome>> install_on(const DriverNodes& nodes, const NodeGoal& goal,
                                                  const InstallOptions& options,
                                                  DriverEvents& events);

}  // namespace fastgpu::envs
