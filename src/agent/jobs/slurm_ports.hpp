// The ports of a job that Slurm runs. Pure.
#pragma once

#include <cstdint>

namespace fastgpu::agent {

struct SlurmPorts {
  /// MASTER_PORT. Each worker of TensorFlow listens at this plus its number on its node.
  std::uint16_t master = 0;
  std::uint16_t communicator = 0;  ///< That of libfastgpu_comm.
  friend bool operator==(const SlurmPorts&, const SlurmPorts&) = default;
};

/// Returns ports that depend on Slurm's number of the job and the most ranks of one of its nodes
/// alone: ranks of all nodes know them without a word to each other. Each job has a block of them,
/// so that jobs of one size that share a node share no port before the numbers come round again.
SlurmPorts slurm_ports(std::uint64_t job, int most_ranks);

}  // namespace fastgpu::agent
