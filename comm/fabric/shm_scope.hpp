// The processes that libfabric's provider shm connects.
#pragma once

#include <cstdint>
#include <filesystem>

namespace fastgpu::comm::fabric {

/// Returns a number that all processes share which this one reaches by the provider shm, and no
/// others: those of this boot of the machine, in the same PID namespace and with the same folder
/// of shared memory. The provider names its files in that folder by process ids, and copies from
/// and to the memory of other processes by these. In another namespace the ids are those of other
/// processes, or of none: libfabric 1.17 crashes. Never 0.
std::uint64_t own_shm_scope(const std::filesystem::path& folder = "/dev/shm");

}  // namespace fastgpu::comm::fabric
