// Deleting a cluster.
#include "provision/held_cluster.hpp"
#include "provision/lifecycle.hpp"
#include "provision/take_down.hpp"
#include "provision/takeover.hpp"

namespace fastgpu::provision {

void delete_cluster(const Tools& tools, const ClusterName& name) {
  require_cluster(tools.store, name);
  state::ClusterLock lock = lock_cluster(tools, name);
  state::Cluster cluster = require_cluster(tools.store, name);
  Provider& provider = tools.providers(cluster.provider);
  const std::shared_ptr<void> held = hold_cluster(tools, cluster);
  require_ours(tools, cluster);
  mark_deleting(tools, cluster);
  try {
    finish_delete(tools, provider, cluster);
  } catch (const Error& e) {
    throw Error(e.kind(), "deleting cluster '" + name.value + "': " + e.what() +
                              "; `fastgpu delete cluster " + name.value + "` tries again");
  }
  lock.remove_file();
}

}  // namespace fastgpu::provision
