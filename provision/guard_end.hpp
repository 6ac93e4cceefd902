// Clusters that their guards have ended, or would end as soon as they run: nothing is bought for
// them.
#pragma once

#include <optional>
#include <string>

#include "provision/guards.hpp"
#include "provision/observe.hpp"
#include "state/store.hpp"

namespace fastgpu::provision {

/// Returns true if all machines of the cluster are gone.
bool has_no_machine(std::span<const state::Node> nodes);

/// Returns the facts on record that the cluster's guards depend on. `price` is the price of one
/// machine for an hour.
Watched watched_of(const state::Store& store, const state::Cluster& cluster, const Money& price,
                   state::TimePoint now);

/// Returns the guard that ended the cluster; absent if it has machines or no guard explains it.
std::optional<EndCause> ended_by_guard(const state::Cluster& cluster,
                                       std::span<const state::Node> nodes, const Watched& watched,
                                       state::TimePoint now);

/// Returns why a guard keeps the cluster from running, and the commands that help.
std::string guard_end_text(const state::Cluster& cluster, EndCause cause);

/// Throws conflict if a guard has ended the cluster. `price` is the price of one machine for an
/// hour; absent if it is unknown.
void check_not_ended(const state::Store& store, const ClusterView& seen,
                     const std::optional<Money>& price);

/// Throws conflict if a guard has ended the cluster, or ends its machines as soon as they run.
void check_guards_let_run(const state::Store& store, const ClusterView& seen,
                          const std::optional<Money>& price);

}  // namespace fastgpu::provision
