// The command by which a node gets its storage, and the evaluation of its answer.
#pragma once

#include <string>

#include "base/host_result.hpp"
#include "launcher/fan_out.hpp"
#include "provision/tools.hpp"

namespace fastgpu::cli {

/// Returns a command that waits for the data disk, if there is one, and mounts the storage, at each
/// later boot as well. Our other mounts are removed. An NFS client is installed if it is missing.
std::string storage_command(const state::Node& node, const provision::Storage& storage);

HostResult<provision::Reached> storage_attached(const launcher::NodeAnswer& answer);

}  // namespace fastgpu::cli
