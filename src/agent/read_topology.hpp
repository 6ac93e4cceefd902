// Reads the processors and devices of this node from the kernel.
#pragma once

#include <filesystem>
#include <vector>

#include "agent/protocol/topology.hpp"

namespace fastgpu::agent {

/// Returns the CPUs that this process may use.
std::vector<int> allowed_cpus();

/// Lets this thread, and the processes that it starts, use only these CPUs. Returns 0 or an errno.
int allow_cpus(const std::vector<int>& cpus);

/// Reads the topology of the CPUs `allowed` below `sys` ("/sys"). Where the kernel does not show
/// it, each CPU is a core of one socket.
MachineTopology read_topology(const std::filesystem::path& sys, const std::vector<int>& allowed);

}  // namespace fastgpu::agent
