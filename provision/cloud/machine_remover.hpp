// Ends the machines of a cluster, and removes everything else that it has in its cloud.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "provision/cloud/cloud.hpp"
#include "provision/polling.hpp"
#include "provision/provider.hpp"

namespace fastgpu::provision::cloud {

/// Ends machines. Ignores the user's cancel: a removal continues.
class MachineRemover {
 public:
  MachineRemover(Cloud& cloud, Wait wait) : cloud_(cloud), wait_(std::move(wait)) {}

  /// Orders the machines of `nodes` to end. Returns once the cloud has accepted.
  void end(const state::Cluster& cluster, std::span<const state::Node> nodes);

  /// Ends everything of the cluster in the regions of all its planned places. Returns the refusal
  /// if only a network is left, because something else uses it.
  std::optional<Error> remove(const state::Cluster& cluster, const ReleaseLimits& limits);

  /// Does the same in one region. While the network is in use, looks again for a machine that the
  /// cloud did not list before. `known` are the parts on record.
  std::optional<Error> remove_in(const std::string& region, const state::ClusterId& cluster,
                                 const Parts& known, const ReleaseLimits& limits);

 private:
  /// The last order to end each machine, as a time since the waiting began.
  using Ordered = std::map<std::string, std::chrono::milliseconds>;

  void terminate(const std::string& region, const std::vector<std::string>& ids);
  /// Orders living machines to end. Returns true once the cloud lists every machine of the cluster
  /// as gone.
  bool all_have_ended(const std::string& region, const state::ClusterId& cluster, Ordered& ordered,
                      std::chrono::milliseconds now);

  Cloud& cloud_;
  Wait wait_;
  std::set<std::string> ended_{};  ///< The machines that `end` has ordered to end.
  const Cancel never_{};
};

}  // namespace fastgpu::provision::cloud
