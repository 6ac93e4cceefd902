// The nodes that a command goes to.
#pragma once

#include <string_view>
#include <vector>

#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/services.hpp"
#include "launcher/binding.hpp"
#include "ssh/host.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

struct RemoteTarget {
  state::Cluster cluster;
  std::vector<state::Node> nodes;
  std::vector<ssh::Host> hosts;      ///< One host for each node.
  HeartbeatPtr heartbeat = nullptr;  ///< Keeps the cluster attended while the target is in use.
  std::vector<launcher::NodeTopology> topologies{};  ///< The nodes again, for a job with --per.
};

enum class Access : std::uint8_t { modify, inspect };

/// The treatment of nodes that do not run.
enum class Absent : std::uint8_t {
  refused,   ///< The call throws.
  left_out,  ///< They are left out. The call throws if no node is left.
  /// Leaves out the nodes that another process makes or deletes just now, with a note. If `text`
  /// names nodes, refuses them. For commands that change nothing.
  noted,
};

/// Returns the nodes of "CLUSTER[/NODESET]". Throws ErrorKind::conflict, with a remedy, if one of
/// them does not run and `absent` leaves none out.
RemoteTarget running_nodes(Services& services, std::string_view text,
                           Access access = Access::modify, Absent absent = Absent::refused);

/// Returns the nodes with their slots.
std::vector<launcher::NodeSlots> slots_of(const std::vector<state::Node>& nodes);

}  // namespace fastgpu::cli
