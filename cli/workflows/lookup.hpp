// Finds clusters, nodes and jobs by the names that the user types. Errors suggest the nearest name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/workflows/services.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// Returns the cluster called `name`. Throws ErrorKind::usage for a malformed name and not_found
/// for an unknown one.
state::Cluster find_cluster(Services& services, std::string_view name);

/// Returns the node called `name` in any cluster. Also accepts "CLUSTER/NODE" and "CLUSTER/INDEX".
state::Node find_node(Services& services, std::string_view name);

/// Returns the job with this id. If `name` is a job's name without a number, returns the newest
/// such job.
state::Job find_job(Services& services, std::string_view name);

/// Returns the nodes that `node_set` selects (see select_nodes()), in the cluster's order. An empty
/// set selects all nodes.
std::vector<state::Node> find_nodes(Services& services, const state::Cluster& cluster,
                                    std::string_view node_set);

/// The purpose for which a default cluster is needed.
enum class Purpose : std::uint8_t {
  use,
  remove,  ///< Throws if only a project's settings file names the cluster.
};

/// Returns the given cluster, else the one in the settings, else the only cluster. Throws
/// ErrorKind::usage, with a message that begins with `who`.
std::string usual_cluster(Services& services, const std::string& given, const std::string& who,
                          Purpose purpose = Purpose::use);

/// The parts of "CLUSTER/NODESET".
struct Target {
  std::string cluster;
  std::string node_set;  ///< Empty for the whole cluster.
};
Target parse_target(std::string_view text);

/// Parses `text` like parse_target(). If it does not name a cluster but nodes as they are displayed
/// ("demo-0", "demo-[0-3]"), returns their cluster and these nodes. Throws ErrorKind::usage if
/// several clusters have such nodes.
Target find_target(Services& services, std::string_view text);

/// Returns the target without the nodes in the node set `left_out`.
std::string without(const std::string& target, const std::string& left_out);

}  // namespace fastgpu::cli
