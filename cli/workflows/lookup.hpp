// Look-ups of the user's names; an unknown one is reported with the nearest name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/workflows/services.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// Returns the named cluster. Throws ErrorKind::usage for an impossible name, not_found for an
/// unknown one.
state::Cluster find_cluster(Services& services, std::string_view name);

/// Returns the node of that name in any cluster; "CLUSTER/NODE" and "CLUSTER/INDEX" name one as
/// well.
state::Node find_node(Services& services, std::string_view name);

/// Returns the job with that identity; a job's bare name means the newest job that has it.
state::Job find_job(Services& services, std::string_view name);

/// Returns the nodes of `cluster` that `node_set` names (see select_nodes), in the cluster's order;
/// all of them if it is empty.
std::vector<state::Node> find_nodes(Services& services, const state::Cluster& cluster,
                                    std::string_view node_set);

/// The use of a cluster that the user has not named.
enum class Purpose : std::uint8_t {
  use,
  remove,  ///< A project's file does not choose the cluster then.
};

/// Returns the named cluster, the one in the settings, or the only one. Throws ErrorKind::usage,
/// beginning with `who`.
std::string usual_cluster(Services& services, const std::string& given, const std::string& who,
                          Purpose purpose = Purpose::use);

/// The two parts of "CLUSTER/NODESET".
struct Target {
  std::string cluster;
  std::string node_set;  ///< Empty: the whole cluster.
};
Target parse_target(std::string_view text);

/// Returns the parts of `text` like parse_target. If it names no cluster, but nodes of one cluster
/// ("demo-0", "demo-[0-3]", as they are shown), returns these nodes of it. Throws ErrorKind::usage
/// if several clusters have them.
Target find_target(Services& services, std::string_view text);

/// Returns `target` without the nodes of the node set `left_out`, as a target again.
std::string without(const std::string& target, const std::string& left_out);

}  // namespace fastgpu::cli
