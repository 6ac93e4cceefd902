// Nodes on this very machine: each a set of Linux namespaces with its own sshd.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "provision/provider.hpp"
#include "provision/providers/local/config.hpp"

namespace fastgpu::provision {

/// The local provider. The kernel is asked each time whether a node lives, by a lock of its first
/// process. No process number is recorded, so that a reboot or a crash is noticed at once.
class LocalProvider : public Provider {
 public:
  explicit LocalProvider(local::LocalConfig config);

  std::string_view name() const noexcept override { return "local"; }
  void check_usable() override;
  void describe_node(const state::Cluster& cluster, state::Node& node) const override;
  std::string difference(const state::Cluster& there,
                         const state::ProviderSpec& wanted) const override;
  state::Network prepare(const state::Cluster& cluster, bool may_be_there) override;
  std::vector<HostResult<Instance>> create(const state::Cluster& cluster,
                                           std::span<const NodeRequest> requests,
                                           const Cancel& cancel) override;
  std::vector<Instance> list(const state::Cluster& cluster, const Cancel& cancel) override;
  std::vector<HostResult<Instance>> start(const state::Cluster& cluster,
                                          std::span<const state::Node> nodes,
                                          const Cancel& cancel) override;
  /// Takes up to 6 s if processes on the nodes ignore SIGTERM.
  std::vector<HostResult<Instance>> stop(const state::Cluster& cluster,
                                         std::span<const state::Node> nodes,
                                         const Cancel& cancel) override;
  std::vector<HostResult<Instance>> destroy(const state::Cluster& cluster,
                                            std::span<const state::Node> nodes) override;
  std::optional<Error> release(const state::Cluster& cluster, const ReleaseLimits& limits) override;
  Orphans orphans(std::span<const state::ClusterId> known) override;
  void remove_orphan(const Orphan& orphan) override;

 protected:
  /// Throws ErrorKind::local, naming the package, for a missing program that nodes need.
  void check_programs() const;
  const local::LocalConfig& config() const noexcept { return config_; }

 private:
  local::LocalConfig config_;
};

}  // namespace fastgpu::provision
