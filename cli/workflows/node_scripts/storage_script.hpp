// The command that attaches a node's storage, and the parsing of its answer.
#pragma once

#include <string>

#include "base/host_result.hpp"
#include "launcher/fan_out.hpp"
#include "provision/tools.hpp"

namespace fastgpu::cli {

/// Returns a command that waits for the data disk, if there is one, and mounts the storage now and
/// at each boot. Removes earlier mounts of fastgpu that are not in `storage`. Installs an NFS
/// client if it is missing.
std::string storage_command(const state::Node& node, const provision::Storage& storage);

HostResult<provision::Reached> storage_attached(const launcher::NodeAnswer& answer);

}  // namespace fastgpu::cli
