// A cluster taken over from another state directory, step by step, each of which may be repeated.
#pragma once

#include <string>
#include <vector>

#include "cli/context.hpp"
#include "provision/observe.hpp"

namespace fastgpu::cli {

struct TakeoverWish {
  ClusterName name{};
  std::string provider{};
  std::vector<std::string> regions{};  ///< Empty: the cloud's usual ones.
  std::string id{};                    ///< Which of several of that name; empty: there is one.
  /// A private key file that opens the nodes; empty: the cluster's own, if it was ours before, or
  /// the user's usual one.
  std::string identity{};
  std::string user = "root";        ///< Who we are there.
  std::vector<IpRange> ssh_from{};  ///< Empty: the address that we are seen under from outside.
  bool ends_unrecorded = false;
  bool breaks_lease = false;  ///< That of a machine which is dead.
  bool starts = false;        ///< Machines that are stopped.
};

/// Finds the cluster by its tags, verifies its head node by the fingerprint there, takes the lease,
/// reads the record, gives every node a key of ours, writes all of it down here, and only then puts
/// our mark on the machines. Killed anywhere in between it leaves a cluster that its old owner has,
/// or one that the same call again makes ours. Throws not_found, conflict, or denied where the head
/// node is not the one that the tags tell of.
provision::ClusterView take_over(Context& context, const provision::Tools& tools,
                                 const TakeoverWish& wish);

/// What take_over would do, as far as the cloud alone tells: the nodes are not asked. Throws as
/// that would, and changes nothing.
std::vector<std::string> plan_takeover(Context& context, const TakeoverWish& wish);

}  // namespace fastgpu::cli
