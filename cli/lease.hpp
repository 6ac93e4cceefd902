// The lease of a cluster in a cloud: one state directory at a time changes it.
#pragma once

#include <memory>
#include <stop_token>

#include "cli/context.hpp"
#include "launcher/head_node.hpp"

namespace fastgpu::cli {

struct LeaseWish {
  std::string cluster;  ///< Its name, for messages.
  std::string provider;
  std::chrono::milliseconds patience{0};  ///< With another holder.
  bool takes_over = false;                ///< As agent::LeaseWish has it.
  bool breaks = false;                    ///< The same; that it did is told to the user.
};

/// Held from construction to destruction, renewed in between on a thread of its own. A process that
/// is killed holds it for another minute.
class Lease {
 public:
  /// Throws conflict, naming the holder or the owner, where it is not granted in time; as HeadNode
  /// does where the node cannot be asked.
  Lease(Context& context, ssh::Host head, const LeaseWish& wish);
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  /// For a head node that is not there any more: nothing is given back.
  void abandon() noexcept { is_abandoned_ = true; }

 private:
  void run(const std::stop_token& stop);

  struct Renewal;
  std::unique_ptr<Renewal> renewal_;
  bool is_abandoned_ = false;
};

/// What provision::Tools::hold is: the lease, where the cluster is one of a cloud, its head node
/// runs, and others can know of it by its record. Where that cannot be reached somebody is told,
/// and the marks of the machines alone say whose the cluster is.
std::shared_ptr<void> lease_for(Context& context, const provision::Tools& tools,
                                const state::Cluster& cluster);

/// This machine's name.
std::string own_host_name();

}  // namespace fastgpu::cli
