// Flags whose values are paths on the nodes.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "cli/program/arguments.hpp"
#include "transfer/node_path.hpp"

namespace fastgpu::cli {

/// Adds a flag for one path on the nodes.
Argument& describe_node_path(Arguments& arguments, std::string_view name, std::string_view value,
                             std::string_view help, std::optional<transfer::NodePath>& target);

/// Adds a flag that may be repeated, whose paths are collected.
Argument& describe_node_paths(Arguments& arguments, std::string_view name, std::string_view value,
                              std::string_view help, std::vector<transfer::NodePath>& target);

}  // namespace fastgpu::cli
