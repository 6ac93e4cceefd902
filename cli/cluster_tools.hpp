// The parts that operations on clusters work with, as the program has them.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "base/clock.hpp"
#include "cli/ui/ui.hpp"
#include "launcher/access.hpp"
#include "launcher/fan_out.hpp"
#include "provision/providers/static/hosts.hpp"
#include "provision/tools.hpp"
#include "ssh/client.hpp"

namespace fastgpu::cli {

/// Sleeps end early when the user asks to stop.
class SystemClock final : public Clock {
 public:
  explicit SystemClock(const Cancel& cancel) : cancel_(cancel) {}
  time_point now() const noexcept override { return std::chrono::steady_clock::now(); }
  void sleep(std::chrono::milliseconds duration) override;

 private:
  const Cancel& cancel_;
};

class SshKeyMaker final : public provision::KeyMaker {
 public:
  provision::KeyPair make(std::string_view comment) override;
};

/// Shows the steps of an operation, and how many nodes are ready, as progress.
class ProgressEvents final : public provision::ClusterEvents {
 public:
  explicit ProgressEvents(Ui& ui) : ui_(ui) {}
  void step_started(std::string_view step) override;
  void step_finished(std::string_view step) override;
  void moving_on(std::string_view reason) override;
  void replacing(std::string_view reason) override;
  void shrunk(std::size_t wanted, std::size_t got) override;
  void left_behind(std::string_view sentence) override;

 private:
  Ui& ui_;
};

/// Asks each node to run `true` until it does.
class SshReachability final : public provision::Reachability {
 public:
  SshReachability(ssh::Client& client, Clock& clock, const state::Store& store)
      : client_(client), clock_(clock), store_(store) {}

  std::vector<HostResult<provision::Reached>> wait(const state::Cluster& cluster,
                                                   std::span<const state::Node> nodes,
                                                   Clock::time_point deadline,
                                                   const Cancel& cancel) override;
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

/// Where SSH finds the nodes of a cluster, and with which key.
class ClusterHosts {
 public:
  ClusterHosts(const state::Store& store, state::Cluster cluster);

  /// A node that has no public address, where the head has one, is reached through that, as the
  /// store knew it when this was made.
  ssh::Host of(const state::Node& node) const;

  /// Returns how the other nodes of the cluster reach the node.
  launcher::Peer peer(const state::Node& node) const;

 private:
  ssh::Host without_head(const state::Node& node) const;

  std::filesystem::path directory_;
  state::Cluster cluster_;
  std::optional<ssh::Host> head_{};
  std::vector<provision::StaticHost> listed_{};  // Of a static cluster, by the nodes' indexes.
};

/// How `node` of a static cluster is reached by `who`: by OpenSSH where `listed` has that, and
/// through jump hosts with their own identities.
void apply_listed(const provision::StaticHost& listed, ssh::Login who, ssh::Host& host);

/// The same, for one node.
ssh::Host to_host(const state::Store& store, const state::Cluster& cluster,
                  const state::Node& node);

/// Whether the head's public address is to be the cluster's only one.
bool has_head_alone(const state::Cluster& cluster);
/// Whether `node` of such a cluster has none.
bool is_behind_head(const state::Node& node);

}  // namespace fastgpu::cli
