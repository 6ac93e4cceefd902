// The nodes of one installation: their participation, their environments, their steps.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "envs/environments/installation_request.hpp"

namespace fastgpu::envs {

/// The participating nodes. A node is an index among those that answered last. One that fails is
/// reported and left behind.
class InstallTargets {
 public:
  using Nodes = std::vector<std::size_t>;

  InstallTargets(const NodeAccess& access, std::span<const ssh::Host> hosts,
                 const InstallationRequest& request);

  /// Asks all of them again, including those that failed before. A name makes a place for that
  /// environment.
  std::vector<HostResult<agent::EnvironmentStatus>> look(const std::string& prepared);
  /// Asks those nodes again; returns the ones that lack the build of the plan.
  Nodes those_that_lack_it(const Nodes& nodes);

  /// Returns the participating nodes with that step.
  Nodes those_that(bool NodeSteps::*step) const;
  Nodes all() const;

  /// Calls the agent on these nodes; those that fail participate no further.
  std::vector<std::pair<std::size_t, agent::Records>> on_each(
      const Nodes& nodes, const std::string& doing,
      const std::function<NodeCall(std::size_t)>& call_of);
  /// Calls the agent on the node that has the build, or makes it. Throws as call_node.
  agent::Records on_source(const NodeCall& call) const;

  /// Records the failure; throws it if it is an interruption.
  void fail(std::size_t node, const Error& why);
  bool goes_along(std::size_t node) const { return !failed_[alive_[node]]; }
  /// Records whether the node has the build, checked on its way.
  void note_relayed(std::size_t node, bool is_relayed) { relayed_[alive_[node]] = is_relayed; }
  bool is_relayed(std::size_t node) const { return relayed_[alive_[node]]; }

  const ssh::Host& host_of(std::size_t node) const { return hosts_[alive_[node]]; }
  std::vector<ssh::Host> hosts_of(const Nodes& nodes) const;
  /// Returns the index among all hosts.
  std::size_t place_of(std::size_t node) const { return alive_[node]; }
  const agent::EnvironmentStatus& status_of(std::size_t node) const { return statuses_[node]; }
  const std::vector<agent::EnvironmentStatus>& statuses() const noexcept { return statuses_; }
  const ssh::Host& source() const { return host_of(plan.source); }
  const agent::EnvironmentStatus& source_status() const { return statuses_[plan.source]; }

  const std::string& prefix() const { return statuses_.front().prefix; }
  /// Returns the directory of the plan's build.
  std::filesystem::path directory() const;
  void tell(const NodeName& node, const std::string& doing) const;

  InstallationResult result() const;

  const NodeAccess& access;
  const InstallationRequest& request;
  EnvironmentPlan plan{};  ///< The plan of those that answered last.

 private:
  bool has_build(const agent::EnvironmentStatus& status) const;

  std::span<const ssh::Host> hosts_;
  std::vector<std::optional<Error>> failed_;        // One for each host.
  std::vector<bool> relayed_;                       // One for each host.
  std::vector<std::size_t> alive_;                  // The hosts that answered.
  std::vector<agent::EnvironmentStatus> statuses_;  // Their statuses.
};

}  // namespace fastgpu::envs
