// Steps for network adapters with RDMA: only for hardware that is present.
#pragma once

#include <vector>

#include "envs/drivers/package_manager.hpp"

namespace fastgpu::envs {

bool has_mellanox_adapter(const NodeFacts& facts);
bool has_rdma_adapter(const NodeFacts& facts);  ///< Any adapter with RDMA: Mellanox, EFA, eRDMA.

/// Returns true for a node with such an adapter, or with another RDMA device of its kernel.
bool has_rdma(const NodeFacts& facts);

/// Returns the steps for EFA's and eRDMA's drivers, from their vendors' installers, for the
/// libraries, modules and permissions by which programs use RDMA devices, and for the limit of the
/// memory that they lock. Empty for a node without RDMA.
std::vector<DriverStep> adapter_steps(const Recipe& recipe, const NodeFacts& facts,
                                      const PackageManager& manager);

/// Returns the step for nvidia-peermem, loaded now and at each boot.
DriverStep peer_memory_step(const NodeFacts& facts);

}  // namespace fastgpu::envs
