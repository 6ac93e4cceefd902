// Which nodes of a cluster are meant: "0,2", "n[01-16]", "@io", "@workers!demo-3".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "state/model.hpp"

namespace fastgpu::cli {

/// The node set that a user's group stands for; absent for a name that is none.
using FindGroup = std::function<std::optional<std::string>(std::string_view name)>;

/// What stands before the first '!' is named (nothing: all), what stands behind one is left out.
/// A word is a node's name, its index, ranges of both, or a group: @head, @workers (all but the
/// head), @running, @stopped, @lost, or one of the user's. The nodes in the order of `nodes`.
/// Throws ErrorKind::usage for what cannot be read or leaves nobody, not_found for a name that
/// nobody has; a user's group may name nodes of other clusters.
std::vector<state::Node> select_nodes(const state::Cluster& cluster,
                                      const std::vector<state::Node>& nodes,
                                      std::string_view node_set, const FindGroup& find_group);

}  // namespace fastgpu::cli
