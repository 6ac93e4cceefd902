// A cluster that several state directories know, of which one at a time owns its machines.
#pragma once

#include <span>

#include "provision/cluster_record.hpp"
#include "provision/observe.hpp"
#include "provision/tools.hpp"

namespace fastgpu::provision {

/// Throws ErrorKind::conflict, saying who and what can be done, where another state directory has
/// taken a machine of the cluster over.
void require_ours(const state::Cluster& cluster, std::span<const Instance> found);

/// The same, asked of the provider.
void require_ours(const Tools& tools, const state::Cluster& cluster);

/// Whether another state directory has taken one of these over.
bool is_taken(std::span<const Instance> found) noexcept;

/// Takes a cluster off the record that another state directory has taken over whole, or of which no
/// machine is left; nothing but the record and the cluster's files here is removed. Throws conflict
/// for one that is ours.
void forget_cluster(const Tools& tools, const ClusterName& name);

/// Throws as forget_cluster would, and changes nothing.
void check_forgettable(const Tools& tools, const ClusterName& name);

/// What became of a node of the record, by what the provider found.
struct Recovered {
  std::vector<state::Node> nodes{};    ///< Those of the record, as they are now.
  std::vector<Instance> unrecorded{};  ///< Machines of the cluster that the record does not know.
};

/// Pure.
Recovered recovered(const ClusterRecord& record, std::span<const Instance> found);

enum class Unrecorded : std::uint8_t {
  refuse,  ///< The message names them.
  remove,  ///< As unfinished nodes: the next command ends them.
};

/// Puts the cluster of the record, as it was found, into the store, in place of what may be known
/// of it there: in one transaction. The caller holds the lock of its name. Throws conflict where
/// another cluster here has the name, and for machines that are unrecorded.
ClusterView adopt_cluster(const Tools& tools, const ClusterRecord& record,
                          std::span<const Instance> found, Unrecorded unrecorded);

}  // namespace fastgpu::provision
