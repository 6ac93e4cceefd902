// The hosts of a static cluster, as its file lists them.
#pragma once

#include <filesystem>
#include <vector>

#include "provision/cluster_file/cluster_file.hpp"
#include "state/static_hosts.hpp"

namespace fastgpu::provision {

using state::OpenSshUse;
using state::StaticHost;
using state::StaticJump;

/// Returns the hosts of a file. Relative identities are taken from `file_directory`, "~/" from
/// `home`. Host keys that are not in the file stay empty: the caller finds them before it makes a
/// cluster.
std::vector<StaticHost> static_hosts(const ClusterFile& file,
                                     const std::filesystem::path& file_directory,
                                     const std::filesystem::path& home);

}  // namespace fastgpu::provision
