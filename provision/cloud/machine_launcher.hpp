// Launches the machines of a cluster, in batches, and knows those of earlier launches again.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "provision/cloud/cloud.hpp"
#include "provision/polling.hpp"
#include "provision/provider.hpp"

namespace fastgpu::provision::cloud {

/// Launches machines, and remembers them until the cloud lists them.
class MachineLauncher {
 public:
  MachineLauncher(Cloud& cloud, Wait wait) : cloud_(cloud), wait_(std::move(wait)) {}

  /// Returns one outcome for each request: a machine at the cluster's place, of this launch or of
  /// an earlier one with the same tokens. See Provider::create.
  std::vector<HostResult<Instance>> create(const state::Cluster& cluster, const std::string& owner,
                                           std::span<const NodeRequest> requests,
                                           const Cancel& cancel);

 private:
  /// The refusals, by the index of the node.
  using Refused = std::map<int, Error>;

  /// Launches the batches and adds the machines to `there`.
  Refused launch_all(const state::Cluster& cluster, const std::string& owner,
                     std::span<const std::vector<NodeRequest>> wanted, std::vector<Machine>& there,
                     const Cancel& cancel);
  /// Launches the machines of `missing`, and adds them to `there`.
  Refused launch_missing(const state::Cluster& cluster, const std::string& owner,
                         std::span<const NodeRequest> missing, std::vector<Machine>& there,
                         const Cancel& cancel);
  /// Adds the machines of `requests` that this object launched and the cloud has never listed yet.
  void add_unlisted(std::span<const NodeRequest> requests, std::vector<Machine>& there);
  /// Returns the machines of earlier launches. Waits for those on record that are not listed yet:
  /// a launch in their place would be another one, with other tokens beside theirs.
  std::vector<Machine> machines_of_earlier(const state::Cluster& cluster,
                                           std::span<const NodeRequest> requests,
                                           const Cancel& cancel);

  Cloud& cloud_;
  Wait wait_;
  std::map<std::string, Machine> unlisted_{};  ///< The launched machines, until they are listed.
};

}  // namespace fastgpu::provision::cloud
