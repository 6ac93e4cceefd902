// The prefixes in which a cluster has made environments on this node. Another machine that takes
// the cluster over learns them here.
#pragma once

#include <string>
#include <vector>

#include "agent/protocol/environment.hpp"

namespace fastgpu::agent {

/// Records that the cluster uses the prefix. Does nothing if that is recorded. Throws
/// ErrorKind::usage if `cluster` is not the identity of a cluster.
void note_used_prefix(const std::string& cluster, const EnvironmentPlaces& places);

/// Returns the recorded prefixes that still exist. Throws as note_used_prefix() does.
std::vector<std::string> used_prefixes(const std::string& cluster);

}  // namespace fastgpu::agent
