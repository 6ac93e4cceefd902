// The end of a change of a cluster in its middle: which nodes run then, what they cost, and the
// command that continues.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/money.hpp"
#include "cli/program/context.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// Returns "2 of 3 nodes of cluster demo run, for 1.06 USD/h". Nodes that are being made or removed
/// count as running. `per_hour` is the price of all that runs; absent if it is unknown.
std::string running_text(const state::Cluster& cluster, std::span<const state::Node> nodes,
                         const std::optional<Money>& per_hour);

/// Returns the same from the record.
std::string running_text(Context& context, const state::Cluster& cluster);

/// A change of a cluster that can end in its middle.
struct UnfinishedChange {
  ClusterName cluster;
  std::string partly;   ///< The state in between: "stopped".
  std::string command;  ///< The command that continues: "fastgpu stop cluster demo".
  /// The command that stops nodes that run after any failure of a start or a stop. Empty for
  /// changes that leave a cluster as it was.
  std::string stop{};
};

/// Returns true if a change that failed so may have left nodes running that the user must know of:
/// it was interrupted, its time is over, or, with UnfinishedChange::stop, the place refused.
bool may_leave_nodes(const UnfinishedChange& change, ErrorKind kind);

/// Returns the failure with the nodes that run, their price and the commands that continue and that
/// stop them, if may_leave_nodes(); otherwise returns it as it is.
Error with_rest(Context& context, const UnfinishedChange& change, const Error& failure);

/// Calls `act`, which makes the change. Its failure is described by with_rest(); a second Ctrl-C
/// names the command that continues, too.
template <class Action>
auto continued_by(Context& context, const UnfinishedChange& change, Action act) {
  context.set_interrupt_hint("cluster " + change.cluster.value + " is partly " + change.partly +
                             " and may cost money; to continue: " + change.command);
  try {
    return act();
  } catch (const Error& e) {
    throw with_rest(context, change, e);
  }
}

}  // namespace fastgpu::cli
