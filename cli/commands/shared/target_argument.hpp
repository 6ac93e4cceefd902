// The arguments that name the nodes a command goes to.
#pragma once

#include <string>
#include <string_view>

#include "cli/program/arguments.hpp"

namespace fastgpu::cli {

/// Adds CLUSTER[/NODES], which is required.
void describe_target(Arguments& arguments, std::string& target,
                     std::string_view help = "The cluster, or some of its nodes");

/// Adds CLUSTER[/NODE], which is required, for a command that goes to one node.
void describe_one_node(Arguments& arguments, std::string& target);

/// Adds --cluster CLUSTER[/NODES] (-c). Returns it.
Argument& describe_cluster_flag(Arguments& arguments, std::string& target);

}  // namespace fastgpu::cli
