// Existing hosts, which are adopted and forgotten, but never made, stopped or ended.
#pragma once

#include "provision/provider.hpp"
#include "provision/providers/static/host_access.hpp"

namespace fastgpu::provision {

/// The provider of listed hosts. `state::Cluster::hosts` is the list, host keys
/// included. `create` adopts a host by adding the cluster's key there, and `destroy` forgets it by
/// removing that key, and nothing more.
class StaticProvider final : public Provider {
 public:
  explicit StaticProvider(HostAccess& access) : access_(access) {}

  std::string_view name() const noexcept override { return "static"; }
  void check_usable() override {}

  /// Throws ErrorKind::usage if the file lists no host for the node, denied if all its host keys
  /// are unknown.
  void describe_node(const state::Cluster& cluster, state::Node& node) const override;

  /// Returns listed hosts that are not nodes now, in the order of the list. Former nodes are
  /// included.
  std::vector<int> new_indexes(const state::Cluster& cluster, const std::set<int>& taken,
                               int count) const override;
  /// Logs in to each new host with the user's own key, and to the present ones with the cluster's.
  /// A present host that does not answer is not compared.
  void check_nodes(const state::Cluster& cluster, std::span<const state::Node> nodes,
                   std::span<const state::Node> present, const Cancel& cancel) override;
  std::string difference(const state::Cluster& there,
                         const state::ProviderSpec& wanted) const override;

  state::Network prepare(const state::Cluster& /*cluster*/, bool /*may_be_there*/) override {
    return {};
  }
  std::vector<HostResult<Instance>> create(const state::Cluster& cluster,
                                           std::span<const NodeRequest> requests,
                                           const Cancel& cancel) override;
  std::vector<Instance> list(const state::Cluster& cluster, const Cancel& cancel) override;

  /// Both throw ErrorKind::usage: fastgpu must not switch these hosts on or off.
  std::vector<HostResult<Instance>> start(const state::Cluster& cluster,
                                          std::span<const state::Node> nodes,
                                          const Cancel& cancel) override;
  std::vector<HostResult<Instance>> stop(const state::Cluster& cluster,
                                         std::span<const state::Node> nodes,
                                         const Cancel& cancel) override;

  /// Removes the cluster's key from hosts. If that fails on a host, notes what is left there and
  /// succeeds.
  std::vector<HostResult<Instance>> destroy(const state::Cluster& cluster,
                                            std::span<const state::Node> nodes) override;
  std::optional<Error> release(const state::Cluster& /*cluster*/,
                               const ReleaseLimits& /*limits*/) override {
    return std::nullopt;
  }
  Orphans orphans(std::span<const state::ClusterId> /*known*/) override { return {}; }
  void remove_orphan(const Orphan& /*orphan*/) override {}

  /// Returns the login of the user to a listed host. Throws as describe_node().
  HostLogin login_of(const state::Cluster& cluster, int index) const;

 private:
  std::vector<HostLogin> logins_of(const state::Cluster& cluster,
                                   std::span<const state::Node> nodes) const;

  HostAccess& access_;
};

}  // namespace fastgpu::provision
