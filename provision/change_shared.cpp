// Changes of the parts that a cluster's nodes share.
#include "base/contains.hpp"
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

std::vector<IpRange> open_ranges(const Tools& tools, const state::Cluster& cluster) {
  std::vector<IpRange> ranges = cluster.cloud().ssh_from;
  for (const IpRange& range : tools.providers(cluster.provider).open_ranges(cluster, tools.cancel))
    if (!contains(ranges, range)) ranges.push_back(range);
  return ranges;
}

// Closed before the record changes: after a kill in between, the record still shows the range, and
// a repetition closes it.
state::Cluster close_ranges(const Tools& tools, const ClusterName& name,
                            std::span<const IpRange> ranges) {
  const HeldCluster held(tools, name);
  require_ours(tools, held.cluster());
  state::Cluster cluster = held.cluster();
  held.provider().close_ranges(cluster, ranges, tools.cancel);
  fault_point("provision:ranges_closed");
  state::CloudSpec spec = cluster.cloud();
  std::erase_if(spec.ssh_from, [&](const IpRange& range) { return contains(ranges, range); });
  cluster.provider_spec = std::move(spec);
  tools.store.update_cluster(cluster);
  return cluster;
}

}  // namespace fastgpu::provision
