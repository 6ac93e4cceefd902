// A cluster under its lock, settled: how every operation on an existing cluster begins.
#pragma once

#include "provision/observe.hpp"
#include "provision/tools.hpp"
#include "state/lock.hpp"

namespace fastgpu::provision {

/// Waits for the lock as long as Tools::patience.
state::ClusterLock lock_cluster(const Tools& tools, const ClusterName& name);

/// Tools::hold, for a cluster under its lock.
std::shared_ptr<void> hold_cluster(const Tools& tools, const state::Cluster& cluster);

/// Throws conflict, with the way out, where the cluster's creation was never finished.
void check_is_made(const state::Cluster& cluster);

class HeldCluster {
 public:
  /// Locks and settles. Throws not_found where there is no such cluster, conflict where its
  /// creation was never finished.
  HeldCluster(const Tools& tools, const ClusterName& name);

  /// Asks the provider. Throws conflict where another state directory has taken the cluster over.
  ClusterView look() const;

  /// Stores the view, and closes the cluster's intents of `action`, in one transaction.
  void store(const ClusterView& view, std::string_view action) const;

  const state::Cluster& cluster() const noexcept { return cluster_; }
  Provider& provider() const { return tools_.providers(cluster_.provider); }

 private:
  const Tools& tools_;
  state::ClusterLock lock_;
  state::Cluster cluster_;
  std::shared_ptr<void> held_;  // Let go before the lock.
};

}  // namespace fastgpu::provision
