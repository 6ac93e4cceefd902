// What can be done to a cluster. Every operation takes the cluster's lock, first settles what an
// earlier run that died left open, writes each intent down before it acts, and may be repeated.
//
// All throw ErrorKind::conflict where another fastgpu holds the cluster for longer than
// Tools::patience, interrupted after a cancel, timeout after Tools::deadline, and not_found, with
// the nearest name, for a cluster that is not there.
#pragma once

#include <cstdint>
#include <functional>

#include "provision/cluster_spec.hpp"
#include "provision/observe.hpp"
#include "provision/plan.hpp"
#include "provision/tools.hpp"

namespace fastgpu::provision {

enum class OnFailure : std::uint8_t {
  remove,  ///< A cluster that cannot be made whole is removed again.
  keep,    ///< What was made stays, for somebody to look at; the cluster is degraded.
};

/// When a creation is done.
enum class Until : std::uint8_t {
  nodes_answer,  ///< Over SSH, with host keys that only they know.
  accepted,      ///< The place has promised every machine; the nodes are still to be met.
};

struct CreateResult {
  ClusterView view;
  PlanKind kind = PlanKind::create;
};

/// What create_cluster would do. Changes nothing and takes no lock.
Plan plan_cluster(const Tools& tools, const ClusterSpec& spec);

/// Makes a cluster, or takes over what a run that died made of it, or finds it as wanted. After a
/// failure or a cancel nothing is left, or the message says what is and which command removes it.
CreateResult create_cluster(const Tools& tools, const ClusterSpec& spec, OnFailure on_failure,
                            Until until = Until::nodes_answer);

/// Removes the cluster in whatever state it is.
void delete_cluster(const Tools& tools, const ClusterName& name);

/// Nodes that run (start) or are stopped (stop) already are left alone. Where some nodes fail the
/// others keep their new state and the failure is thrown.
ClusterView start_cluster(const Tools& tools, const ClusterName& name);
ClusterView stop_cluster(const Tools& tools, const ClusterName& name);

/// Adds nodes under new indexes, or removes those with the highest. New nodes that fail are
/// removed.
ClusterView scale_cluster(const Tools& tools, const ClusterName& name, int nodes);

/// What scale_cluster would do.
struct Scaling {
  state::Cluster cluster{};
  std::vector<state::Node> added{};
  std::vector<state::Node> removed{};
};

/// Throws as scale_cluster would. Changes nothing and takes no lock.
Scaling plan_scale(const Tools& tools, const ClusterName& name, int nodes);

/// Makes new machines for the nodes whose machines are gone, where the cluster stands; what was on
/// them is lost. Those that cannot be had stay lost.
ClusterView replace_lost_nodes(const Tools& tools, const ClusterName& name);

/// Makes what the nodes share as `change` wants it, which gets the provider's part of the cluster
/// (Cluster::spec_json) and returns another.
state::Cluster change_shared(const Tools& tools, const ClusterName& name,
                             const std::function<std::string(const std::string&)>& change);

/// Gives the nodes that run the storage that `change` makes of the cluster's; those that are
/// stopped get it when they start. Where a node fails, the same call again goes on. Throws conflict
/// where a stopped node would keep what is taken away.
state::Cluster change_storage(const Tools& tools, const ClusterName& name,
                              const std::function<std::string(const std::string&)>& change);

/// The cluster as change_storage would leave it. Throws as that would; changes nothing and takes no
/// lock.
state::Cluster plan_storage(const Tools& tools, const ClusterName& name,
                            const std::function<std::string(const std::string&)>& change);

/// Gives the cluster another name, at its provider too. Its nodes keep theirs: they are known by
/// them. Throws conflict where the name is taken, or somebody else has taken the cluster over.
ClusterView rename_cluster(const Tools& tools, const ClusterName& from, const ClusterName& to);

/// The cluster as its provider finds it now. What changed is stored where nobody else is working on
/// the cluster and the state directory can be written.
ClusterView refresh_cluster(const Tools& tools, const ClusterName& name);

/// The same for somebody who is about to change the cluster: stores nothing and takes no lock.
/// Throws conflict where the cluster is half-made or half-deleted, or another machine has taken it
/// over.
ClusterView look_before_change(const Tools& tools, const ClusterName& name);

/// Throws conflict where a cluster has that name, or where one has nodes of the same host names.
/// The cluster that is renamed, if there is one, may keep its host names.
void check_name_is_free(const state::Store& store, const ClusterName& name,
                        const ClusterName& renamed = {});

/// The cluster, or Error not_found with the nearest name there is.
state::Cluster require_cluster(const state::Store& store, const ClusterName& name);

}  // namespace fastgpu::provision
