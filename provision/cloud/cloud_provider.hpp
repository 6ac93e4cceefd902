// A cloud as a provider: the common part of all clouds. Launches, power and removals are units of
// their own.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "provision/cloud/cloud.hpp"
#include "provision/cloud/cloud_spec.hpp"
#include "provision/cloud/machine_launcher.hpp"
#include "provision/cloud/machine_remover.hpp"
#include "provision/cloud/owner.hpp"
#include "provision/polling.hpp"
#include "provision/provider.hpp"

namespace fastgpu::provision::cloud {

/// A provider that makes clusters in a cloud. A cluster is at one of the places planned for it,
/// with all its machines in one zone.
class CloudProvider final : public Provider {
 public:
  /// Never touches machines of other owners. `stop` interrupts operations that may stay half-done;
  /// removals continue.
  CloudProvider(Cloud& cloud, Owner owner, const Wait& wait, const Cancel& stop);

  std::string_view name() const noexcept override { return cloud_.name(); }
  void check_usable() override;
  HostKeyUse host_key_use() const noexcept override { return HostKeyUse::first_boot; }
  std::string difference(const state::Cluster& there,
                         const state::ProviderSpec& wanted) const override;
  void rename(const state::Cluster& cluster, const Cancel& cancel) override;
  state::Network prepare(const state::Cluster& cluster, bool may_be_there) override;
  std::vector<IpRange> open_ranges(const state::Cluster& cluster, const Cancel& cancel) override;
  void close_ranges(const state::Cluster& cluster, std::span<const IpRange> ranges,
                    const Cancel& cancel) override;
  Storage storage(const state::Cluster& cluster) const override;
  Places places(const state::Cluster& cluster) const override;
  state::Network network_at(const state::Cluster& cluster, std::size_t place) const override;
  bool gives_parts() const noexcept override { return cloud_.limits().has_partial_launch; }
  bool lists_late() const noexcept override { return true; }
  std::optional<Money> price_per_hour(const state::Cluster& cluster) const override;
  std::vector<HostResult<Instance>> create(const state::Cluster& cluster,
                                           std::span<const NodeRequest> requests,
                                           const Cancel& cancel) override;
  std::vector<Instance> list(const state::Cluster& cluster, const Cancel& cancel) override;
  std::vector<HostResult<Instance>> start(const state::Cluster& cluster,
                                          std::span<const state::Node> nodes,
                                          const Cancel& cancel) override;
  std::vector<HostResult<Instance>> stop(const state::Cluster& cluster,
                                         std::span<const state::Node> nodes,
                                         const Cancel& cancel) override;
  std::vector<HostResult<Instance>> destroy(const state::Cluster& cluster,
                                            std::span<const state::Node> nodes) override;
  std::optional<Error> release(const state::Cluster& cluster, const ReleaseLimits& limits) override;
  Orphans orphans(std::span<const state::ClusterId> known) override;
  void remove_orphan(const Orphan& orphan) override;

 private:
  /// Chooses the image and reads the keys of the user's key pairs, at the cluster's place.
  void choose_image(const CloudSpec& spec, CloudPlacement& placement);

  Cloud& cloud_;
  Owner owner_;
  Wait wait_;
  MachineLauncher launcher_;
  MachineRemover remover_;
  const Cancel& stop_;
  const Cancel never_{};  ///< Used by removals, which ignore the user's cancel.
};

}  // namespace fastgpu::provision::cloud
