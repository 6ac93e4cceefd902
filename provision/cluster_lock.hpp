// The lock and the lease of a cluster, under which it is changed.
#pragma once

#include <memory>
#include <string>

#include "provision/tools.hpp"
#include "state/lock.hpp"

namespace fastgpu::provision {

/// Waits for the lock for up to Tools::lock_timeout.
state::ClusterLock lock_cluster(const Tools& tools, const ClusterName& name);

/// Calls Tools::hold, for a cluster under its lock.
std::shared_ptr<void> hold_cluster(const Tools& tools, const state::Cluster& cluster);

/// Returns that the creation of the cluster was interrupted, with a remedy.
std::string half_made_text(const state::Cluster& cluster);

/// Throws conflict, with a remedy, if the cluster's creation was never finished.
void check_is_made(const state::Cluster& cluster);

}  // namespace fastgpu::provision
