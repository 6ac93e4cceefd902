// A cloud as a place that clusters are made in: what is alike for all clouds.
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

/// Waits for a time or a stop.
using Wait = std::function<void(std::chrono::milliseconds, const Cancel&)>;

/// A cluster stands at one of the places that were planned for it, all its machines in one zone.
class CloudProvider final : public Provider {
 public:
  /// Machines of other owners are never touched. `stop` ends what may be left half-done; removing
  /// goes on.
  CloudProvider(Cloud& cloud, Owner owner, Wait wait, const Cancel& stop)
      : cloud_(cloud), owner_(std::move(owner)), wait_(std::move(wait)), stop_(stop) {}

  std::string_view name() const noexcept override { return cloud_.name(); }
  void check_usable() override;
  HostKeyUse host_key_use() const noexcept override { return HostKeyUse::first_boot; }
  std::string difference(const state::Cluster& there, const std::string& wanted) const override;
  void rename(const state::Cluster& cluster, const Cancel& cancel) override;
  std::string prepare(const state::Cluster& cluster, bool may_be_there) override;
  Storage storage(const state::Cluster& cluster) const override;
  Places places(const state::Cluster& cluster) const override;
  std::string network_at(const state::Cluster& cluster, std::size_t place) const override;
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
  /// The image and the keys of the user's key pairs, at the cluster's place.
  void choose_image(const CloudSpec& spec, Standing& standing);
  /// Launches the batches, adding to what is `there`; the refusals by node.
  std::map<int, Error> launch_all(const state::Cluster& cluster,
                                  std::span<const std::vector<NodeRequest>> wanted,
                                  std::vector<Machine>& there, const Cancel& cancel);
  /// Adds the machines of `requests` that were launched by this object and were never listed yet.
  void add_unlisted(std::span<const NodeRequest> requests, std::vector<Machine>& there);
  /// By the regions of the places that the cluster may stand at.
  std::vector<Machine> machines_of(const state::Cluster& cluster, const Cancel& cancel);
  /// What `start` and `stop` are.
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
  /// In as many calls as that takes.
  void terminate(const std::string& region, const std::vector<std::string>& ids);
  /// When each machine was told to end, since the beginning of waiting for that.
  using Told = std::map<std::string, std::chrono::milliseconds>;
  /// Tells those that are alive to end; true once the cloud says of every machine of the cluster
  /// that it is gone.
  bool all_have_ended(const std::string& region, const state::ClusterId& cluster, Told& told,
                      std::chrono::milliseconds now);
  /// All of the cluster in a region. A machine that the cloud did not list yet keeps the network in
  /// use: then it is looked for again.
  void end_in(const std::string& region, const state::ClusterId& cluster, const Parts& known);

  std::size_t machines_a_call() const {
    return static_cast<std::size_t>(cloud_.limits().machines_a_call);
  }

  Cloud& cloud_;
  Owner owner_;
  Wait wait_;
  std::set<std::string> told_{};               ///< Who was told to end by `destroy`.
  std::map<std::string, Machine> unlisted_{};  ///< What `create` has launched, until it is listed.
  const Cancel& stop_;
  const Cancel never_{};  ///< What removes goes on whatever the user wishes.
};

}  // namespace fastgpu::provision::cloud
