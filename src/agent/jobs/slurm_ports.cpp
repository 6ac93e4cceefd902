#include "agent/jobs/slurm_ports.hpp"

#include <algorithm>

namespace fastgpu::agent {
namespace {

/// Below the ports from which kernels choose by themselves.
constexpr int kFirstOfJobs = 20'000;
constexpr int kPortsOfJobs = 12'000;

}  // namespace

SlurmPorts slurm_ports(std::uint64_t job, int most_ranks) {
  const int workers = std::clamp(most_ranks, 1, kPortsOfJobs - 1);
  const int block = workers + 1;
  const auto blocks = static_cast<std::uint64_t>(kPortsOfJobs / block);
  const int master = kFirstOfJobs + block * static_cast<int>(job % blocks);
  return {.master = static_cast<std::uint16_t>(master),
          .communicator = static_cast<std::uint16_t>(master + workers)};
}

SlurmPorts free_slurm_ports(std::uint64_t job, int most_ranks,
                            const std::function<bool(std::uint16_t)>& is_free) {
  constexpr std::uint64_t kTries = 200;
  for (std::uint64_t i = 0; i < kTries; ++i) {
    const SlurmPorts ports = slurm_ports(job + i, most_ranks);
    int port = ports.master;
    while (port <= ports.communicator && is_free(static_cast<std::uint16_t>(port)))
      ++port;
    if (port > ports.communicator) return ports;
  }
  return slurm_ports(job, most_ranks);
}

}  // namespace fastgpu::agent
