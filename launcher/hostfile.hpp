// mpirun's file with the placement of ranks. Pure.
#pragma once

#include <span>
#include <string>

namespace fastgpu::launcher {

struct HostfileEntry {
  std::string name;  ///< The name by which mpirun reaches it.
  int ranks = 0;
};

/// Returns one line a node, "10.0.0.2 slots=4", in order. The slots are the ranks to run there, so
/// that filling slots in order is exactly our placement.
std::string hostfile(std::span<const HostfileEntry> entries);

}  // namespace fastgpu::launcher
