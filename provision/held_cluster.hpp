// A settled cluster under its lock: the beginning of every operation on an existing cluster.
#pragma once

#include "provision/cluster_lock.hpp"
#include "provision/observe.hpp"
#include "provision/tools.hpp"
#include "state/lock.hpp"

namespace fastgpu::provision {

class HeldCluster {
 public:
  /// Locks and settles the cluster. Throws not_found for an unknown name, conflict if the creation
  /// was never finished.
  HeldCluster(const Tools& tools, const ClusterName& name);

  /// Asks the provider. Throws conflict if another state directory has taken the cluster over.
  ClusterView look() const { return look(tools_.cancel); }
  /// The same after a change: neither a cancel nor the command's time limit ends it.
  ClusterView look_after_change() const;

  /// Stores the view, and closes the cluster's intents of `action`, in one transaction.
  void store(const ClusterView& view, std::string_view action) const;

  /// Ends the hold on other machines early: the lease is on a node that is about to stop, and would
  /// otherwise keep others away until it runs out. The lock here stays.
  void let_others_in() { held_.reset(); }

  const state::Cluster& cluster() const noexcept { return cluster_; }
  Provider& provider() const { return tools_.providers(cluster_.provider); }

 private:
  ClusterView look(const Cancel& cancel) const;

  const Tools& tools_;
  state::ClusterLock lock_;
  state::Cluster cluster_;
  std::shared_ptr<void> held_;  // Released before the lock.
};

}  // namespace fastgpu::provision
