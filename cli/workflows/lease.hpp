// The lease of a cluster in a cloud: one state directory at a time changes it.
#pragma once

#include <memory>
#include <stop_token>

#include "cli/workflows/services.hpp"
#include "launcher/head_node.hpp"

namespace fastgpu::cli {

struct LeaseOptions {
  std::string cluster;  ///< The cluster's name, for messages.
  std::string provider;
  std::chrono::milliseconds patience{0};  ///< Timeout of another holder.
  bool takes_over = false;                ///< See agent::LeaseRequest.
  bool breaks = false;  ///< See agent::LeaseRequest; a broken lease is reported to the user.
};

/// A lease from construction to destruction, renewed in between on a thread of its own. A killed
/// process holds it for another minute.
class Lease {
 public:
  /// Takes the lease. Throws conflict, naming the holder or the owner, if it is not granted in
  /// time; throws as HeadNode does if the node cannot be asked.
  Lease(Services& services, ssh::Host head, const LeaseOptions& wish);
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  /// Drops the lease without returning it, for a head node that is gone.
  void abandon() noexcept { is_abandoned_ = true; }

 private:
  void run(const std::stop_token& stop);

  struct Renewal;
  std::unique_ptr<Renewal> renewal_;
  bool is_abandoned_ = false;
};

/// Implements provision::Tools::hold: the lease, if the cluster is one of a cloud, its head node
/// runs, and others can know of it by its record. If the head node cannot be reached, the user is
/// warned, and only the marks of the machines show the owner.
std::shared_ptr<void> lease_for(Services& services, const provision::Tools& tools,
                                const state::Cluster& cluster);

/// Returns this machine's name.
std::string own_host_name();

}  // namespace fastgpu::cli
