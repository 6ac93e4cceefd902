#include "agent/jobs/slurm_ports.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace fastgpu::agent {

TEST_SUITE_BEGIN("agent/slurm_ports");

TEST_CASE("the ports of a job in Slurm follow from its number and its ranks") {
  struct Row {
    std::uint64_t job;
    int ranks;
    SlurmPorts ports;
  };
  const std::vector<Row> table = {
      {0, 1, {20'000, 20'001}},      {1, 1, {20'002, 20'003}},
      {5'999, 1, {31'998, 31'999}},  {6'000, 1, {20'000, 20'001}},
      {10, 2, {20'030, 20'032}},     {11, 2, {20'033, 20'035}},
      {10, 8, {20'090, 20'098}},     {1'332, 8, {31'988, 31'996}},
      {1'333, 8, {20'000, 20'008}},  {UINT64_MAX, 8, {26'552, 26'560}},
      {1, 0, {20'002, 20'003}},      {7, -3, {20'014, 20'015}},
      {9, 11'999, {20'000, 31'999}}, {9, 100'000, {20'000, 31'999}},
  };
  for (const Row& row : table) {
    const SlurmPorts ports = slurm_ports(row.job, row.ranks);
    CHECK_MESSAGE(ports.master == row.ports.master, row.job << " with " << row.ranks);
    CHECK_MESSAGE(ports.communicator == row.ports.communicator, row.job << " with " << row.ranks);
  }
}

TEST_CASE("jobs that follow each other share no port, and no port has two uses") {
  for (const int ranks : {1, 2, 7, 8, 96, 128, 400})
    for (std::uint64_t job = 0; job < 20; ++job) {
      const SlurmPorts ports = slurm_ports(job, ranks);
      CHECK(ports.communicator >= ports.master + ranks);
      CHECK(slurm_ports(job + 1, ranks).master > ports.communicator);
      CHECK(ports.communicator < 32'000);
    }
}

TEST_CASE("a job takes the next block where a port of its own is in use") {
  const auto ports_beside = [](std::uint16_t used) {
    return free_slurm_ports(10, 2, [used](std::uint16_t port) { return port != used; });
  };
  CHECK(ports_beside(1) == SlurmPorts{20'030, 20'032});
  for (const int used : {20'030, 20'031, 20'032})
    CHECK(ports_beside(static_cast<std::uint16_t>(used)) == SlurmPorts{20'033, 20'035});
  CHECK(ports_beside(20'033) == SlurmPorts{20'030, 20'032});
  const auto full = free_slurm_ports(10, 2, [](std::uint16_t) { return false; });
  CHECK(full == SlurmPorts{20'030, 20'032});
}

TEST_SUITE_END();

}  // namespace fastgpu::agent
