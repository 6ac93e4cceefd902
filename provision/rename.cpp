// Renaming a cluster.
#include <optional>

#include "base/fault_point.hpp"
#include "base/host_names.hpp"
#include "provision/held_cluster.hpp"
#include "provision/lifecycle.hpp"
#include "provision/takeover.hpp"

namespace fastgpu::provision {
void check_name_is_free(const state::Store& store, const ClusterName& name,
                        const ClusterName& renamed) {
  check_dotted_name("cluster name", name.value);
  if (store.find_cluster(name))
    throw Error(ErrorKind::conflict, "cluster '" + name.value + "' exists already");
  for (const state::Cluster& other : store.clusters())
    if (other.name != renamed && host_form(other.name.value) == host_form(name.value))
      throw Error(ErrorKind::conflict, "cluster '" + name.value + "' cannot be beside '" +
                                           other.name.value +
                                           "': their nodes would have the same host names");
}

ClusterView rename_cluster(const Tools& tools, const ClusterName& from, const ClusterName& to) {
  check_dotted_name("cluster name", to.value);
  require_cluster(tools.store, from);
  // Two locks are always taken in the order of their names, which avoids a deadlock.
  std::optional<state::ClusterLock> other;
  if (to < from) other.emplace(lock_cluster(tools, to));
  const HeldCluster held(tools, from);
  if (from < to) other.emplace(lock_cluster(tools, to));
  ClusterView view{held.cluster(), tools.store.nodes(held.cluster().id)};
  if (from == to) return view;
  view.cluster.name = to;
  try {
    check_name_is_free(tools.store, to, from);
    require_ours(tools, held.cluster());
    // Repeated after a kill before the next line.
    held.provider().rename(view.cluster, tools.cancel);
    fault_point("provision:renamed_there");
    tools.store.update_cluster(view.cluster);
  } catch (const Error& e) {
    throw e.during("renaming cluster '" + from.value + "'");
  }
  fault_point("provision:renamed");
  return view;
}

}  // namespace fastgpu::provision
