// Synthetic topologies.
#pragma once

#include <string>

#include "agent/protocol/topology.hpp"

namespace fastgpu::test {

struct Shape {
  int sockets = 1;
  int numas = 1;    ///< NUMA nodes of a socket.
  int cores = 1;    ///< Cores of a NUMA node.
  int threads = 1;  ///< Threads of a core.
};

/// Returns a machine whose threads are numbered as Linux does it: the first threads of all cores
/// come before the second ones.
inline agent::MachineTopology machine(const Shape& shape) {
  agent::MachineTopology topology;
  const int numas = shape.sockets * shape.numas, cores = numas * shape.cores;
  for (int thread = 0; thread < shape.threads; ++thread)
    for (int core = 0; core < cores; ++core)
      topology.cpus.push_back({.number = thread * cores + core,
                               .core = core,
                               .socket = core / shape.cores / shape.numas,
                               .numa = core / shape.cores});
  return topology;
}

}  // namespace fastgpu::test
