// A selection of a cluster's nodes: "0,2", "n[01-16]", "@io", "@workers!demo-3".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "state/model.hpp"

namespace fastgpu::cli {

/// A function that returns the node set of a user's group; absent for an unknown name.
using FindGroup = std::function<std::optional<std::string>(std::string_view name)>;

/// Selects nodes, in the order of `nodes`. Words before the first '!' are included (none: all),
/// words behind one are left out. A word is a node's name, its index, ranges of both, or a group:
/// @head, @workers (all but the head), @running, @stopped, @lost, or one of the user's. Throws
/// ErrorKind::usage for an invalid or empty set, not_found for an unknown name; a user's group may
/// name nodes of other clusters.
std::vector<state::Node> select_nodes(const state::Cluster& cluster,
                                      const std::vector<state::Node>& nodes,
                                      std::string_view node_set, const FindGroup& find_group);

}  // namespace fastgpu::cli
