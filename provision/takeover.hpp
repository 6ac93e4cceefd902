// A cluster that several state directories know. Only one at a time owns its machines.
#pragma once

#include <optional>
#include <span>

#include "provision/cluster_record.hpp"
#include "provision/observe.hpp"
#include "provision/tools.hpp"

namespace fastgpu::provision {

/// Throws ErrorKind::conflict, with the owner and a remedy, if another state directory has taken a
/// machine of the cluster over.
void require_ours(const state::Cluster& cluster, std::span<const Instance> found);

/// Asks the provider for the machines, and checks the same.
void require_ours(const Tools& tools, const state::Cluster& cluster);

/// Returns the owner of a cluster that another state directory has taken over; empty if it is ours.
/// Remembers the owner: once no machine of the cluster is left, the last known one is returned.
std::string note_owner(const Tools& tools, const state::Cluster& cluster,
                       std::span<const Instance> found);

/// Returns true if another state directory has taken one of these over.
bool is_taken(std::span<const Instance> found) noexcept;

/// Erases the record of a cluster that another state directory has taken over as a whole, or of
/// which no machine is left. Only the record and the cluster's files here are removed. Throws
/// conflict for one that is ours. Without credentials that cannot be checked: the record is erased
/// all the same, and the reason is returned; machines may then have no owner.
std::optional<Error> forget_cluster(const Tools& tools, const ClusterName& name);

/// Throws and returns as forget_cluster would, and changes nothing.
std::optional<Error> check_forgettable(const Tools& tools, const ClusterName& name);

/// The record's nodes after a comparison with the provider's findings.
struct Recovered {
  std::vector<state::Node> nodes{};    ///< The nodes of the record, in their present state.
  std::vector<Instance> unrecorded{};  ///< Machines of the cluster that are not in the record.
};

/// Compares the record with the findings. Pure.
Recovered recovered(const ClusterRecord& record, std::span<const Instance> found);

enum class Unrecorded : std::uint8_t {
  refuse,  ///< Refuses; the message names them.
  remove,  ///< Keeps them as unfinished nodes: the next command ends them.
};

/// Throws conflict if another cluster here than the one with that id has the name.
void check_name_for(const state::Store& store, const ClusterName& name, const state::ClusterId& id);

/// Throws as adopt_cluster() would. Changes nothing.
void check_adoptable(const Tools& tools, const ClusterRecord& record,
                     std::span<const Instance> found, Unrecorded unrecorded);

/// Stores the cluster of the record, in its present state, in place of any earlier state there, in
/// one transaction. The caller holds the lock of its name. Throws conflict if another cluster here
/// has the name, and, for Unrecorded::refuse, if there are unrecorded machines.
ClusterView adopt_cluster(const Tools& tools, const ClusterRecord& record,
                          std::span<const Instance> found, Unrecorded unrecorded);

}  // namespace fastgpu::provision
