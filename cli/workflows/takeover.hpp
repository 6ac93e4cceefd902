// Takes over a cluster from another state directory, in steps that may be repeated.
#pragma once

#include <string>
#include <vector>

#include "cli/workflows/services.hpp"
#include "provision/observe.hpp"

namespace fastgpu::cli {

struct TakeoverRequest {
  ClusterName name{};
  std::string provider{};
  std::vector<std::string> regions{};  ///< The regions to search; empty for the cloud's usual ones.
  /// The cluster's id, to choose one of several with the same name; empty if there is only one.
  std::string id{};
  /// The private key file for logging in to the nodes. If empty, the cluster's own key is used if
  /// the cluster was ours before, else the user's usual key.
  std::string identity{};
  std::string user = "root";  ///< The account on the nodes.
  /// The ranges that may log in; empty for our address as seen from outside.
  std::vector<IpRange> ssh_from{};
  bool ends_unrecorded = false;
  bool breaks_lease = false;  ///< Breaks another's lease, because its holder is dead.
  bool starts = false;        ///< Starts stopped machines.
};

/// Takes the cluster over. Finds it by its tags, verifies its head node by the fingerprint there,
/// and takes the lease. Then reads the record, gives every node our key, records all of this here,
/// and finally puts our mark on the machines. After a kill at any point, the cluster still belongs
/// to its old owner, or the same call completes the takeover. Throws not_found, conflict, or denied
/// if the head node's key does not match the tag.
provision::ClusterView take_over(Services& services, const provision::Tools& tools,
                                 const TakeoverRequest& request);

/// Returns the steps that take_over() would take, as far as the cloud alone shows them. Does not
/// ask the nodes and changes nothing. Throws as take_over() does.
std::vector<std::string> plan_takeover(Services& services, const TakeoverRequest& request);

}  // namespace fastgpu::cli
