#include "provision/cluster_lock.hpp"

namespace fastgpu::provision {

state::ClusterLock lock_cluster(const Tools& tools, const ClusterName& name) {
  return {tools.store, name, tools.lock_timeout, tools.cancel};
}

std::shared_ptr<void> hold_cluster(const Tools& tools, const state::Cluster& cluster) {
  return tools.hold ? tools.hold(tools, cluster) : nullptr;
}

std::string half_made_text(const state::Cluster& cluster) {
  const std::string& name = cluster.name.value;
  return "cluster '" + name + "' was left half-made: repeat its creation, or `fastgpu delete " +
         "cluster " + name + "`";
}

void check_is_made(const state::Cluster& cluster) {
  if (cluster.state == state::ClusterState::creating)
    throw Error(ErrorKind::conflict, half_made_text(cluster));
}

}  // namespace fastgpu::provision
