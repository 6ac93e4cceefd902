// Changes of the parts that a cluster's nodes share.
#include "base/fault_point.hpp"
#include "provision/held_cluster.hpp"
#include "provision/lifecycle.hpp"
#include "provision/takeover.hpp"

namespace fastgpu::provision {

state::Cluster change_shared(const Tools& tools, const ClusterName& name,
                             const std::function<void(state::CloudSpec&)>& change) {
  const HeldCluster held(tools, name);
  require_ours(tools, held.cluster());
  state::Cluster cluster = held.cluster();
  state::CloudSpec spec = cluster.cloud();
  change(spec);
  cluster.provider_spec = std::move(spec);
  tools.store.update_cluster(cluster);
  fault_point("provision:shared_written");
  cluster.network = held.provider().prepare(cluster, true);
  tools.store.update_cluster(cluster);
  return cluster;
}

}  // namespace fastgpu::provision
