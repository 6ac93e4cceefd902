// Local nodes of an ordinary user: the same nodes, inside namespaces in which that user is root.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "provision/providers/local/local_provider.hpp"
#include "provision/providers/local/rootless/world.hpp"

namespace fastgpu::provision {

/// The rootless provider. Every verb that changes something is the local provider's own, run inside
/// the world. A verb that only reads files and locks needs no rights and runs outside.
class RootlessProvider final : public LocalProvider {
 public:
  /// Sets `world`, the folder of the user's world: see local::world_folder.
  RootlessProvider(const local::LocalConfig& config, std::filesystem::path world);

  /// Throws the obstacles in one sentence: denied if an administrator must allow something, local
  /// if something is missing.
  void check_usable() override;
  state::Network prepare(const state::Cluster& cluster, bool may_be_there) override;
  std::vector<HostResult<Instance>> create(const state::Cluster& cluster,
                                           std::span<const NodeRequest> requests,
                                           const Cancel& cancel) override;
  std::vector<HostResult<Instance>> start(const state::Cluster& cluster,
                                          std::span<const state::Node> nodes,
                                          const Cancel& cancel) override;
  std::vector<HostResult<Instance>> stop(const state::Cluster& cluster,
                                         std::span<const state::Node> nodes,
                                         const Cancel& cancel) override;
  std::vector<HostResult<Instance>> destroy(const state::Cluster& cluster,
                                            std::span<const state::Node> nodes) override;
  std::optional<Error> release(const state::Cluster& cluster, const ReleaseLimits& limits) override;
  void remove_orphan(const Orphan& orphan) override;

 private:
  /// Returns false if nothing of a cluster has been made: then there is nothing to remove, even
  /// where no world can be made.
  bool has_folder(const state::Cluster& cluster) const;
  template <class Work>
  std::string inside(Work work, const Cancel& cancel);

  std::filesystem::path init_program_;
  std::filesystem::path folder_;
  std::optional<local::RootlessWorld>
      world_;  ///< Held from the first verb on, so that it is made once.
};

}  // namespace fastgpu::provision
