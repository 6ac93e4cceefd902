// Starts and stops the machines of a cluster.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "provision/cloud/cloud.hpp"
#include "provision/polling.hpp"
#include "provision/provider.hpp"

namespace fastgpu::provision::cloud {

enum class Power : std::uint8_t { on, off };

/// Starts or stops the machines of `nodes`, and returns once the cloud lists them as running or
/// stopped. Returns one outcome for each node; ErrorKind::remote for a machine that is gone.
std::vector<HostResult<Instance>> switch_power(Cloud& cloud, const Wait& wait,
                                               const state::Cluster& cluster,
                                               std::span<const state::Node> nodes, Power wanted,
                                               const Cancel& cancel);

}  // namespace fastgpu::provision::cloud
