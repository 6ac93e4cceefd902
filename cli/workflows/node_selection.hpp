// A selection of a cluster's nodes: "0,2", "n[01-16]", "@io", "@workers!demo-3".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "state/model.hpp"

namespace fastgpu::cli {

/// Returns the node set of a group in the user's settings; absent for an unknown group.
using FindGroup = std::function<std::optional<std::string>(std::string_view name)>;

/// Returns the selected nodes, in the order of `nodes`. The words before the first '!' select nodes
/// (without such words, all nodes); the words after a '!' exclude nodes. A word is a name, an
/// index, a range of either, or a group: @head, @workers (all but the head), @running, @stopped,
/// @lost, or a group of the user's settings, which may also name nodes of other clusters. Throws
/// ErrorKind::usage for a malformed or empty set, and not_found for an unknown name.
std::vector<state::Node> select_nodes(const state::Cluster& cluster,
                                      const std::vector<state::Node>& nodes,
                                      std::string_view node_set, const FindGroup& find_group);

}  // namespace fastgpu::cli
