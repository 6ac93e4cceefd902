// The guards of clusters, carried to where they hold without us: to the cloud's timers and to the
// nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cli/workflows/services.hpp"
#include "provision/cloud/model.hpp"
#include "provision/guards.hpp"
#include "provision/settle.hpp"

namespace fastgpu::cli {

/// What a cluster has cost, and when it ends by itself as things are.
struct GuardStatus {
  provision::Guards guards{};
  std::optional<Money> price{};  ///< Of a machine, an hour; absent: not told.
  std::vector<state::Run> runs{};
  provision::Spending spending{};
  std::optional<provision::End> end{};    ///< As the cloud's timers have it, where it has any.
  std::optional<provision::End> bound{};  ///< The same by the guards, whoever looks after it.
  std::optional<state::TimePoint> due{};  ///< When the guards alone would have it.
  /// Why no machine is left of it, where a guard explains that.
  std::optional<provision::EndCause> ended{};
};

/// From what is remembered alone.
GuardStatus guard_status_of(const state::Store& store, const state::Cluster& cluster,
                            state::TimePoint now);

/// Throws ErrorKind::usage for guards that nobody could keep: of hosts that are the user's own, or
/// a cost where no price is known, stopping where `is_spot` machines cannot be stopped.
void check_guards(const provision::Guards& guards, const std::string& provider,
                  const std::optional<Money>& price, bool is_spot);

/// Returns true if the nodes hold the guards themselves, because the cluster's cloud has no timers.
bool nodes_hold_guards(Services& services, const state::Cluster& cluster);

/// Returns the end that the cloud of the cluster will hold for that wish.
std::optional<provision::End> held(Services& services, const state::Cluster& cluster,
                                   std::optional<provision::End> wished);

/// Why timers and nodes are to be told.
enum class GuardUpdate : std::uint8_t {
  created,  ///< The machines were launched with their timers.
  changed,  ///< Nodes came, went, started or stopped.
  guarded,  ///< The guards are others.
};

enum class Scope : std::uint8_t { nodes, cloud_only };

/// Brings the clouds' timers and the nodes' own in line with the guards. Somebody looks after the
/// cluster at this moment. Nothing for a cluster that has no guards and never had.
void arrange_guards(Services& services, const state::ClusterId& cluster, GuardUpdate occasion,
                    Scope reach);

/// The same for commands that have done their work by then: a failure is a warning that says so.
void keep_guards(Services& services, const ClusterName& name, GuardUpdate occasion,
                 Scope reach = Scope::nodes);

/// While this lives, somebody looks after a cluster that ends when nobody does: its time is put off
/// again and again, on a thread of its own.
class Heartbeat;

struct EndHeartbeat {
  void operator()(Heartbeat* heartbeat) const noexcept;
};
using HeartbeatPtr = std::unique_ptr<Heartbeat, EndHeartbeat>;

/// Whether nodes of such a cluster have to be told of its guards.
bool nodes_need_guards(Services& services, const state::Cluster& cluster,
                       const provision::Guards& guards);

/// For a command that goes to the nodes of the cluster. Null where nothing has to be put off. Nodes
/// that could not be told their guards when they were made are told now.
HeartbeatPtr start_heartbeat(Services& services, const state::Cluster& cluster);

/// What the guards demand and neither a cloud nor a node has done: clusters whose time is over are
/// deleted, those whose nodes say that they are idle stopped.
enum class Execution : std::uint8_t { dry_run, apply };
std::vector<provision::Settled> carry_out_guards(Services& services, Execution carrying);

}  // namespace fastgpu::cli
