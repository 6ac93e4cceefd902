// A cloud as a provider: the common part of all clouds.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "provision/cloud/cloud.hpp"
#include "provision/cloud/cloud_spec.hpp"
#include "provision/cloud/owner.hpp"
#include "provision/provider.hpp"

namespace fastgpu::provision::cloud {

/// A function that waits for a time or a cancel.
using Wait = std::function<void(std::chrono::milliseconds, const Cancel&)>;

/// A provider that makes clusters in a cloud. A cluster is at one of the places planned for it,
/// with all its machines in one zone.
class CloudProvider final : public Provider {
 public:
  /// Never touches machines of other owners. `stop` interrupts operations that may stay half-done;
  /// removals continue.
  CloudProvider(Cloud& cloud, Owner owner, Wait wait, const Cancel& stop)
      : cloud_(cloud), owner_(std::move(owner)), wait_(std::move(wait)), stop_(stop) {}

  std::string_view name() const noexcept override { return cloud_.name(); }
  void check_usable() override;
  HostKeyUse host_key_use() const noexcept override { return HostKeyUse::first_boot; }
  std::string difference(const state::Cluster& there,
                         const state::ProviderSpec& wanted) const override;
  void rename(const state::Cluster& cluster, const Cancel& cancel) override;
  state::Network prepare(const state::Cluster& cluster, bool may_be_there) override;
  Storage storage(const state::Cluster& cluster) const override;
  Places places(const state::Cluster& cluster) const override;
  state::Network network_at(const state::Cluster& cluster, std::size_t place) const override;
  bool gives_parts() const noexcept override { return cloud_.limits().has_partial_launch; }
  bool lists_late() const noexcept override { return true; }
  std::optional<Money> price_per_hour(const state::Cluster& cluster) const override;
  std::vector<HostResult<Instance>> create(const state::Cluster& cluster,
                                           std::span<const NodeRequest> requests,
                                           const Cancel& cancel) override;
  std::vector<Instance> list(const state::Cluster& cluster) override;
  std::vector<HostResult<Instance>> start(const state::Cluster& cluster,
                                          std::span<const state::Node> nodes,
                                          const Cancel& cancel) override;
  std::vector<HostResult<Instance>> stop(const state::Cluster& cluster,
                                         std::span<const state::Node> nodes,
                                         const Cancel& cancel) override;
  std::vector<HostResult<Instance>> destroy(const state::Cluster& cluster,
                                            std::span<const state::Node> nodes) override;
  void release(const state::Cluster& cluster) override;
  Orphans orphans(std::span<const state::ClusterId> known) override;
  void remove_orphan(const Orphan& orphan) override;

 private:
  /// Chooses the image and reads the keys of the user's key pairs, at the cluster's place.
  void choose_image(const CloudSpec& spec, CloudPlacement& placement);
  /// Launches the batches and adds the machines to `there`. Returns the refusals by node index.
  std::map<int, Error> launch_all(const state::Cluster& cluster,
                                  std::span<const std::vector<NodeRequest>> wanted,
                                  std::vector<Machine>& there, const Cancel& cancel);
  /// Adds the machines of `requests` that this object launched and the cloud has never listed yet.
  void add_unlisted(std::span<const NodeRequest> requests, std::vector<Machine>& there);
  /// Returns the machines of earlier launches. Waits for those on record that are not listed yet:
  /// a launch in their place would be another one, with other tokens beside theirs.
  std::vector<Machine> machines_of_earlier(const state::Cluster& cluster,
                                           std::span<const NodeRequest> requests,
                                           const Cancel& cancel);
  /// Returns the cluster's machines in the regions of all its planned places.
  std::vector<Machine> machines_of(const state::Cluster& cluster, const Cancel& cancel);
  /// A start or a stop.
  struct Change {
    std::string doing;
    MachineState wanted;
    std::function<void(const std::string& region, std::span<const std::string> ids)> ask;
  };
  std::vector<Machine> await_rest(const state::Cluster& cluster, std::span<const state::Node> nodes,
                                  const Change& change, const Cancel& cancel);
  std::vector<HostResult<Instance>> change(const state::Cluster& cluster,
                                           std::span<const state::Node> nodes, const Change& change,
                                           const Cancel& cancel);
  /// Ends machines, in as many calls as are needed.
  void terminate(const std::string& region, const std::vector<std::string>& ids);
  /// The last order to end each machine, as a time since the waiting began.
  using Told = std::map<std::string, std::chrono::milliseconds>;
  /// Orders living machines to end. Returns true once the cloud lists every machine of the cluster
  /// as gone.
  bool all_have_ended(const std::string& region, const state::ClusterId& cluster, Told& told,
                      std::chrono::milliseconds now);
  /// Ends everything of the cluster in a region. If the network is still in use, looks again for a
  /// machine that the cloud did not list before.
  void end_in(const std::string& region, const state::ClusterId& cluster, const Parts& known);

  std::size_t machines_a_call() const {
    return static_cast<std::size_t>(cloud_.limits().machines_a_call);
  }

  Cloud& cloud_;
  Owner owner_;
  Wait wait_;
  std::set<std::string> told_{};  ///< The machines that `destroy` has ordered to end.
  /// The machines that `create` has launched, until they are listed.
  std::map<std::string, Machine> unlisted_{};
  const Cancel& stop_;
  const Cancel never_{};  ///< Used by removals, which ignore the user's cancel.
};

}  // namespace fastgpu::provision::cloud
