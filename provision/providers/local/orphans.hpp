// Everything on the machine with this root's marks, for known and unknown clusters.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "provision/provider.hpp"
#include "provision/providers/local/config.hpp"

namespace fastgpu::provision::local {

/// Returns "folder", "bridge" and "process" of clusters that are not among `known`; the folder
/// alone if it exists: its removal ends everything else.
std::vector<Orphan> find_orphans(const LocalConfig& config,
                                 std::span<const state::ClusterId> known);

/// Ends the processes that were started as nodes of `cluster_id` under this root, in any folder.
void end_marked_processes(const LocalConfig& config, const std::string& cluster_id);

}  // namespace fastgpu::provision::local
