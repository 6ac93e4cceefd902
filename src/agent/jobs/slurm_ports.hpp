// The ports of a job that Slurm runs. Pure.
#pragma once

#include <cstdint>
#include <functional>

namespace fastgpu::agent {

struct SlurmPorts {
  /// MASTER_PORT. Each worker of TensorFlow listens at this plus its number on its node.
  std::uint16_t master = 0;
  std::uint16_t communicator = 0;  ///< That of libfastgpu_comm.
  friend bool operator==(const SlurmPorts&, const SlurmPorts&) = default;
};

/// Returns the ports of a block that follows from Slurm's number of the job and the most ranks of
/// one of its nodes. Jobs of one size that share a node share no port before the numbers come round
/// again. Those of other sizes may: see free_slurm_ports().
SlurmPorts slurm_ports(std::uint64_t job, int most_ranks);

/// Returns the ports of the job's block, or of the next block whose ports are all free, as
/// `is_free` reports. Returns those of the job's block if each block has a port in use.
SlurmPorts free_slurm_ports(std::uint64_t job, int most_ranks,
                            const std::function<bool(std::uint16_t)>& is_free);

}  // namespace fastgpu::agent
