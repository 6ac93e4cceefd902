// The command by which a node gets the storage that it is to have, and what its answer means.
#pragma once

#include <string>

#include "base/host_result.hpp"
#include "launcher/fan_out.hpp"
#include "provision/tools.hpp"

namespace fastgpu::cli {

/// Waits for the data disk, where there is to be one, and mounts what is to be mounted, at each
/// later boot as well. Mounts of ours that are not among it go. An NFS client is installed where
/// there is none.
std::string storage_command(const state::Node& node, const provision::Storage& storage);

HostResult<provision::Reached> storage_attached(const launcher::NodeAnswer& answer);

}  // namespace fastgpu::cli
