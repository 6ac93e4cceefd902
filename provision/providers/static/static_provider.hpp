// Hosts that somebody has already: adopted and forgotten, never made, stopped or ended.
#pragma once

#include "provision/provider.hpp"

namespace fastgpu::provision {

/// `state::Cluster::spec_json` is the list of hosts (hosts.hpp), host keys included. Nothing is
/// asked of the hosts here: whether they answer is found out over SSH.
class StaticProvider final : public Provider {
 public:
  std::string_view name() const noexcept override { return "static"; }
  void check_usable() override {}

  /// Throws ErrorKind::usage where the file lists no host for the node, denied where none of its
  /// host keys is known.
  void describe_node(const state::Cluster& cluster, state::Node& node) const override;

  std::string prepare(const state::Cluster& /*cluster*/) override { return {}; }
  std::vector<HostResult<Instance>> create(const state::Cluster& cluster,
                                           std::span<const NodeRequest> requests,
                                           const Cancel& cancel) override;
  std::vector<Instance> list(const state::Cluster& cluster) override;

  /// Both throw ErrorKind::usage: these hosts are not ours to switch.
  std::vector<HostResult<Instance>> start(const state::Cluster& cluster,
                                          std::span<const state::Node> nodes,
                                          const Cancel& cancel) override;
  std::vector<HostResult<Instance>> stop(const state::Cluster& cluster,
                                         std::span<const state::Node> nodes,
                                         const Cancel& cancel) override;

  std::vector<HostResult<Instance>> destroy(const state::Cluster& cluster,
                                            std::span<const state::Node> nodes) override;
  void release(const state::Cluster& /*cluster*/) override {}
  std::vector<Orphan> orphans(std::span<const state::ClusterId> /*known*/) override { return {}; }
  void remove_orphan(const Orphan& /*orphan*/) override {}
};

}  // namespace fastgpu::provision
