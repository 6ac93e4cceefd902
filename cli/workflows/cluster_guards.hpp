// The guards of clusters, and their transfer to the cloud's timers and to the nodes, where they
// work even if fastgpu does not run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/workflows/services.hpp"
#include "provision/cloud/model.hpp"
#include "provision/guards.hpp"
#include "provision/settle.hpp"

namespace fastgpu::cli {

/// The cost of a cluster so far, and the time at which its guards end it.
struct GuardStatus {
  provision::Guards guards{};
  std::optional<Money> price{};  ///< The price of a machine per hour; absent if it is unknown.
  std::vector<state::Run> runs{};
  provision::Spending spending{};
  /// The end at the time that the cloud's timers have, if it has timers.
  std::optional<provision::End> end{};
  /// The end by the limits that apply even to an attended cluster.
  std::optional<provision::End> bound{};
  /// The end by the guards alone, without the cloud's timers.
  std::optional<state::TimePoint> due{};
  /// The guard that explains why all machines are gone; absent if there are machines or no guard
  /// explains it.
  std::optional<provision::EndCause> ended{};
};

/// Returns the status from the store alone, without requests to the cloud or the nodes.
GuardStatus guard_status_of(const state::Store& store, const state::Cluster& cluster,
                            state::TimePoint now);

/// Throws ErrorKind::conflict, with a remedy, if a guard has ended the cluster.
void refuse_ended(Services& services, const state::Cluster& cluster);

/// Throws ErrorKind::usage for guards that cannot be enforced: any guard of the user's own hosts, a
/// maximum cost without a known price, and stopping of machines that cannot be stopped (`is_spot`).
void check_guards(const provision::Guards& guards, const std::string& provider,
                  const std::optional<Money>& price, bool is_spot);

/// Returns true if the nodes hold the guards themselves, because the cluster's cloud has no timers.
bool nodes_hold_guards(Services& services, const state::Cluster& cluster);

/// Returns the end that will apply if `wished` is requested: a cloud with timers may round it.
std::optional<provision::End> held(Services& services, const state::Cluster& cluster,
                                   std::optional<provision::End> wished);

/// Returns "its guards would delete the cluster at 12:00, but the timers of alibaba accept no time
/// that is so close: it is deleted at 12:30, after about 31.00 CNY"; empty if `held` is not later
/// than `due`. `cost` is what the cluster costs until then; absent if it is unknown.
std::string late_end_text(const std::string& provider, state::TimePoint due, state::TimePoint held,
                          const std::optional<Money>& cost);

/// Returns the same for a cluster that is about to be created for `per_hour`. Throws
/// ErrorKind::usage if the cloud's timers would let it cost more than the guards allow.
std::string late_end_of_new(Services& services, const std::string& provider,
                            const provision::Guards& guards, const std::optional<Money>& per_hour);

/// The event after which timers and nodes must be updated.
enum class GuardUpdate : std::uint8_t {
  created,  ///< The machines were launched, with their timers.
  changed,  ///< Nodes were added, removed, started or stopped.
  guarded,  ///< The guards were changed.
};

enum class Scope : std::uint8_t { nodes, cloud_only };

/// Updates the cloud's timers and the nodes' orders to the guards of the cluster, and records that
/// the cluster is attended now. Does nothing if the cluster has no guards and never had any.
void arrange_guards(Services& services, const state::ClusterId& cluster, GuardUpdate occasion,
                    Scope reach);

/// Calls arrange_guards() after a command's work is done: a failure is only a warning.
void keep_guards(Services& services, const ClusterName& name, GuardUpdate occasion,
                 Scope reach = Scope::nodes);

/// Keeps a cluster attended while the object lives: a thread postpones the end of the cluster at
/// regular intervals.
class Heartbeat;

struct EndHeartbeat {
  void operator()(Heartbeat* heartbeat) const noexcept;
};
using HeartbeatPtr = std::unique_ptr<Heartbeat, EndHeartbeat>;

/// Returns true if these guards are sent to the nodes of the cluster, too.
bool nodes_need_guards(Services& services, const state::Cluster& cluster,
                       const provision::Guards& guards);

/// Returns the heartbeat for a command that uses the cluster's nodes; null if there is nothing to
/// postpone. Before that, sends the guards to nodes that could not receive them at their creation.
HeartbeatPtr start_heartbeat(Services& services, const state::Cluster& cluster);

/// Whether guards that are due are only reported or enforced.
enum class Execution : std::uint8_t { dry_run, apply };
std::vector<provision::Settled> carry_out_guards(Services& services, Execution carrying);

}  // namespace fastgpu::cli
