// The hosts of a job as mpirun gets them: -H and --hostfile.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/program/arguments.hpp"
#include "launcher/placement.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// Adds --hostfile, whose hosts are stored in `hosts` as -H has them. Throws ErrorKind::usage while
/// the command line is parsed if -H has stored hosts there.
void describe_host_file(Arguments& arguments, std::string& hosts);

/// Returns the hosts of a hostfile as -H has them: "a:2,b:*". A host without slots has those of its
/// node. Throws ErrorKind::usage, with the line, for a file that is no hostfile.
std::string host_list_of(std::string_view text, const std::string& source);

/// Returns the hosts with the names of their nodes. A host may be an address of its node, by which
/// SSH or the other nodes reach it, and localhost is the first node; the slots of a node that is
/// named in several ways are added.
std::vector<launcher::NodeSlots> with_node_names(std::vector<launcher::NodeSlots> hosts,
                                                 std::span<const state::Node> nodes);

}  // namespace fastgpu::cli
