// What carries this root's marks on the machine, whether or not a cluster of that name is known.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "provision/provider.hpp"
#include "provision/providers/local/config.hpp"

namespace fastgpu::provision::local {

/// "folder", "bridge" and "process" of clusters that are not among `known`, the folder alone where
/// there is one: removing it ends what belongs to it.
std::vector<Orphan> find_orphans(const LocalConfig& config,
                                 std::span<const state::ClusterId> known);

/// Ends the processes that were started as nodes of `cluster_id` under this root, wherever their
/// folders are.
void end_marked_processes(const LocalConfig& config, const std::string& cluster_id);

}  // namespace fastgpu::provision::local
