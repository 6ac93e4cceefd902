#include "cli/workflows/absent_nodes.hpp"

#include "base/error.hpp"
#include "provision/cluster_lock.hpp"
#include "state/lock.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {

ClusterChange change_of(const state::Store& store, const ClusterName& cluster) try {
  return state::ClusterLock::try_lock(store, cluster) ? ClusterChange::interrupted
                                                      : ClusterChange::in_progress;
} catch (const Error&) {  // The lock of a directory that is only readable cannot be tried.
  return ClusterChange::interrupted;
}

std::string absence_of(const state::Cluster& cluster, ClusterChange change) {
  const bool goes_on = change == ClusterChange::in_progress;
  const std::string name = "cluster '" + cluster.name.value + "'";
  switch (cluster.state) {
    case state::ClusterState::creating:
      return goes_on ? name + " is still being created by another process: wait for it"
                     : provision::half_made_text(cluster);
    case state::ClusterState::deleting:
      return goes_on ? name + " is being deleted by another process"
                     : "the deletion of " + name + " was interrupted: `fastgpu gc` finishes it";
    case state::ClusterState::running:
    case state::ClusterState::stopped:
    case state::ClusterState::degraded:
      return {};
  }
  return {};
}

std::string absence_of(const state::Cluster& cluster, const state::Node& node,
                       ClusterChange change) {
  if (std::string whole = absence_of(cluster, change); !whole.empty()) return whole;
  const bool goes_on = change == ClusterChange::in_progress;
  const std::string& name = node.name.value;
  const std::string start = "fastgpu start cluster " + cluster.name.value;
  switch (node.state) {
    case state::NodeState::creating:
      return goes_on ? name + " is still being created by another process: wait for it"
                     : "the creation of " + name + " was interrupted: `fastgpu gc` clears it away";
    case state::NodeState::deleting:
      return goes_on ? name + " is being deleted by another process"
                     : "the deletion of " + name + " was interrupted: `fastgpu gc` finishes it";
    case state::NodeState::lost:
      return name + " is lost: replace it with: " + start + " --replace-lost";
    case state::NodeState::running:
    case state::NodeState::stopped:
      break;
  }
  return name + " is " + std::string(state::to_string(node.state)) + ": start it with: " + start;
}

}  // namespace fastgpu::cli
