// The operations on clusters. Every operation takes the cluster's lock, first settles what an
// earlier run that died left open, records each intent before it acts, and may be repeated.
//
// All throw ErrorKind::conflict if another fastgpu holds the cluster for longer than
// Tools::lock_timeout, interrupted after a cancel, timeout after Tools::deadline, and not_found,
// with the nearest name, for an unknown cluster.
#pragma once

#include <cstdint>
#include <functional>

#include "provision/cluster_spec.hpp"
#include "provision/observe.hpp"
#include "provision/plan.hpp"
#include "provision/tools.hpp"

namespace fastgpu::provision {

enum class OnFailure : std::uint8_t {
  remove,  ///< Removes a cluster that cannot be completed.
  keep,    ///< Keeps the nodes so far for inspection; the cluster is degraded.
};

/// The point at which a creation returns.
enum class Until : std::uint8_t {
  nodes_answer,  ///< Every node answers over SSH, with a host key that no other machine knows.
  accepted,      ///< The place has accepted all requests; the nodes are reached later.
};

struct CreateResult {
  ClusterView view;
  PlanKind kind = PlanKind::create;
};

/// Returns the steps that create_cluster would take. Changes nothing and takes no lock.
ClusterPlan plan_cluster(const Tools& tools, const ClusterSpec& spec);

/// Makes a cluster, or completes one that a killed run began, or returns the existing one if it
/// matches. After a failure or a cancel nothing is left, or the message names the remains and the
/// command that removes them.
CreateResult create_cluster(const Tools& tools, const ClusterSpec& spec, OnFailure on_failure,
                            Until until = Until::nodes_answer);

/// Called when a removal goes on record. From then on a cancel does not stop it.
using OnCommitted = std::function<void()>;

/// Removes the cluster, in any state. A cancel before `on_committed` leaves the cluster as it is.
void delete_cluster(const Tools& tools, const ClusterName& name,
                    const OnCommitted& on_committed = {});

/// Asks the cluster's place for its machines. Throws as delete_cluster would if the place does not
/// answer, or if another state directory has taken the cluster over. Changes nothing.
void check_may_delete(const Tools& tools, const ClusterName& name);

/// Starts or stops all nodes. Nodes that are in the new state already are left alone. If some nodes
/// fail, the others keep their new state and the failure is thrown.
ClusterView start_cluster(const Tools& tools, const ClusterName& name);
ClusterView stop_cluster(const Tools& tools, const ClusterName& name);

/// Adds nodes under new indexes, or removes those with the highest. New nodes that fail are
/// removed. A cancel before `on_committed`, which only a removal calls, removes nothing.
ClusterView scale_cluster(const Tools& tools, const ClusterName& name, int nodes,
                          const OnCommitted& on_committed = {});

/// The changes that scale_cluster would make.
struct Scaling {
  state::Cluster cluster{};
  std::vector<state::Node> added{};
  std::vector<state::Node> removed{};
};

/// Throws as scale_cluster would. Changes nothing and takes no lock.
Scaling plan_scale(const Tools& tools, const ClusterName& name, int nodes);

/// Makes new machines for lost nodes, at the cluster's place. The data of the old machines is lost.
/// Nodes without an available machine stay lost.
ClusterView replace_lost_nodes(const Tools& tools, const ClusterName& name);

/// Changes the parts that the nodes of a cluster in a cloud share, by a change of its request.
state::Cluster change_shared(const Tools& tools, const ClusterName& name,
                             const std::function<void(state::CloudSpec&)>& change);

/// Returns the ranges that may log in to the nodes of a cluster in a cloud: those on record, and
/// those that a killed takeover has opened.
std::vector<IpRange> open_ranges(const Tools& tools, const state::Cluster& cluster);

/// Lets these ranges log in to the nodes of a cluster in a cloud no longer. Ignores ranges that may
/// not log in.
state::Cluster close_ranges(const Tools& tools, const ClusterName& name,
                            std::span<const IpRange> ranges);

/// Changes the cluster's storage by `change` and applies it to running nodes; stopped nodes get it
/// when they start. If a node fails, the same call may be repeated. Throws conflict if a stopped
/// node would keep a mount that is removed.
state::Cluster change_storage(const Tools& tools, const ClusterName& name,
                              const std::function<void(state::CloudSpec&)>& change);

/// Returns the cluster as change_storage would leave it. Throws as that would; changes nothing and
/// takes no lock.
state::Cluster plan_storage(const Tools& tools, const ClusterName& name,
                            const std::function<void(state::CloudSpec&)>& change);

/// Gives the cluster another name, at its provider too. The nodes keep their names, by which they
/// are known. Throws conflict if the name is in use, or if another state directory has taken the
/// cluster over.
ClusterView rename_cluster(const Tools& tools, const ClusterName& from, const ClusterName& to);

/// Returns the cluster as its provider finds it now. Stores the changes, unless another process
/// works on the cluster or the state directory is read-only.
ClusterView refresh_cluster(const Tools& tools, const ClusterName& name);

/// Returns the same before a change of the cluster: stores nothing and takes no lock. Throws
/// conflict if the cluster is half-made or half-deleted, or if another machine has taken it over.
ClusterView look_before_change(const Tools& tools, const ClusterName& name);

/// Throws conflict if another cluster has that name, or nodes with the same host names. A cluster
/// that is being renamed may keep its host names.
void check_name_is_free(const state::Store& store, const ClusterName& name,
                        const ClusterName& renamed = {});

/// Returns the cluster. Throws not_found, with the nearest known name.
state::Cluster require_cluster(const state::Store& store, const ClusterName& name);

}  // namespace fastgpu::provision
