// The ranks of a job in one process, each with a GPU that computes on the CPU.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <vector>

#include "gpu/fake_device.hpp"
#include "gpu/fake_nccl.hpp"
#include "support/connect_in_process.hpp"

namespace fastgpu::test {

struct OnRank {
  comm::Communicator& comm;
  std::shared_ptr<FakeDevice> device;  ///< Shared with what is made of it.
  std::size_t self;

  void install_nccl(const comm::gpu::NcclFunctions& functions = fake_nccl()) const {
    device->install_nccl(std::make_shared<comm::gpu::NcclLibrary>(functions));
  }
};

/// Calls body(rank) on every rank, and returns how each ended.
template <class Body>
std::vector<std::exception_ptr> outcomes_on_devices(
    int size, Body body, std::chrono::milliseconds timeout = std::chrono::seconds(10)) {
  auto ranks = communicators_in_process(size, timeout);
  return outcomes_of_ranks(ranks, [&](comm::Communicator& comm) {
    body(OnRank{comm, std::make_shared<FakeDevice>(), static_cast<std::size_t>(comm.rank().value)});
  });
}

template <class Body>
void run_on_devices(int size, Body body) {
  for (const auto& outcome : outcomes_on_devices(size, body))
    if (outcome) std::rethrow_exception(outcome);
}

}  // namespace fastgpu::test
