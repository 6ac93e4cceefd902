// The takeover of a cluster from another state directory, step by step, each of which may be
// repeated.
#pragma once

#include <string>
#include <vector>

#include "cli/workflows/services.hpp"
#include "provision/observe.hpp"

namespace fastgpu::cli {

struct TakeoverRequest {
  ClusterName name{};
  std::string provider{};
  std::vector<std::string> regions{};  ///< Empty: the cloud's usual ones.
  /// The identity of one of several with that name; empty: there is one.
  std::string id{};
  /// A private key file that opens the nodes; empty: the cluster's own, if it was ours before, or
  /// the user's usual one.
  std::string identity{};
  std::string user = "root";        ///< The user that we log in as.
  std::vector<IpRange> ssh_from{};  ///< Empty: our address as seen from outside.
  bool ends_unrecorded = false;
  bool breaks_lease = false;  ///< Breaks the lease of a machine that is dead.
  bool starts = false;        ///< Starts machines that are stopped.
};

/// Finds the cluster by its tags, verifies its head node by the fingerprint there, and takes the
/// lease. It reads the record, and gives every node a key of ours. It records all of this here, and
/// only then puts our mark on the machines. If it is killed anywhere in between, the cluster
/// belongs to its old owner, or the same call again makes it ours. Throws not_found, conflict, or
/// denied if the head node is not the one in the tags.
provision::ClusterView take_over(Services& services, const provision::Tools& tools,
                                 const TakeoverRequest& wish);

/// Returns what take_over would do, as far as the cloud alone shows it: the nodes are not asked.
/// Throws as that would, and changes nothing.
std::vector<std::string> plan_takeover(Services& services, const TakeoverRequest& wish);

}  // namespace fastgpu::cli
