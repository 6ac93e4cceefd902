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

}  // namespace fastgpu::agent
