// The lease of a cluster in a cloud: only one state directory at a time can change the cluster.
#pragma once

#include <memory>

#include "cli/workflows/services.hpp"
#include "launcher/head_node.hpp"

namespace fastgpu::cli {

struct LeaseOptions {
  std::string cluster;  ///< The cluster's name, for messages.
  std::string provider;
  std::chrono::milliseconds timeout{0};  ///< How long to wait for another holder.
  bool takes_over = false;               ///< See agent::LeaseRequest.
  bool breaks = false;  ///< See agent::LeaseRequest. The user is warned of the broken lease.
};

/// Holds a lease from construction to destruction, and renews it on a thread. If the process is
/// killed, the lease runs out after a minute.
class Lease {
 public:
  /// Takes the lease. Throws conflict, naming the holder or the owner, if the lease is not granted
  /// in time. Throws as HeadNode does if the node cannot be asked.
  Lease(Services& services, ssh::Host head, const LeaseOptions& request);
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  /// Makes the destructor leave the lease alone: the head node is gone.
  void abandon() noexcept { is_abandoned_ = true; }

 private:
  struct Renewal;
  std::unique_ptr<Renewal> renewal_;
  bool is_abandoned_ = false;
};

/// Implements provision::Tools::hold. Returns the lease if the cluster is in a cloud, its head node
/// runs, and its record is published; otherwise null. If the head node cannot be reached, warns the
/// user and returns null: then only the marks on the machines show the owner.
std::shared_ptr<void> lease_for(Services& services, const provision::Tools& tools,
                                const state::Cluster& cluster);

/// Returns this machine's name.
std::string own_host_name();

}  // namespace fastgpu::cli
