// The Ascend processors of this node.
#pragma once

#include <filesystem>
#include <vector>

#include "agent/protocol/facts.hpp"

namespace fastgpu::agent {

/// Returns the processors by their device files, in order, each with the address of its network
/// port as /etc/hccn.conf has it. Reads below `root`. Empty on other nodes.
std::vector<NpuDevice> npu_devices(const std::filesystem::path& root = "/");

}  // namespace fastgpu::agent
