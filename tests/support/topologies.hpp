// Synthetic topologies.
#pragma once

#include <string>
#include <vector>

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

/// Returns two sockets of 8 cores with two threads each, with 4 GPUs and an adapter on each socket.
inline agent::MachineTopology gpu_machine() {
  agent::MachineTopology topology = machine({.sockets = 2, .numas = 1, .cores = 8, .threads = 2});
  for (int i = 0; i < 8; ++i)
    topology.gpus.push_back({.name = "gpu" + std::to_string(i), .numa = i / 4});
  topology.adapters = {{.name = "mlx5_0", .numa = 0}, {.name = "mlx5_1", .numa = 1}};
  return topology;
}

/// Returns the NVLinks that rows of digits describe, a row for each GPU: "0112" are one link to GPU
/// 1, one to GPU 2 and two to GPU 3.
inline std::vector<agent::GpuLink> links_of_rows(const std::vector<std::string>& rows) {
  std::vector<agent::GpuLink> links;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t k = i + 1; k < rows.size(); ++k)
      if (const int count = rows[i].at(k) - '0'; count > 0)
        links.push_back(
            {.first = static_cast<int>(i), .second = static_cast<int>(k), .count = count});
  return links;
}

/// The links of eight V100, as NVIDIA's DGX-1 and the p3.16xlarge of AWS have them: two meshes of
/// four, joined to a cube.
inline std::vector<agent::GpuLink> hybrid_cube_mesh() {
  return links_of_rows({"01122000", "10210200", "12020010", "21200001",  //
                        "20000112", "02001021", "00101202", "00012120"});
}

}  // namespace fastgpu::test
