// Ranks of a job as C sees it, with devices that compute on the CPU in place of CUDA's.
#pragma once

#include <doctest/doctest.h>
#include <fastgpu_comm.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gpu/fake_device.hpp"
#include "support/free_port.hpp"

namespace fastgpu::test {

/// Each rank is a thread here; CUDA too has a current device for each.
std::shared_ptr<FakeDevice>& current_device();

/// What was not as expected, on any rank.
struct Failures {
  std::vector<std::vector<std::string>> of_rank;

  void expect(std::size_t rank, bool is_true, const std::string& what) {
    if (!is_true) of_rank[rank].push_back(what + " (last error: " + fgc_last_error() + ")");
  }

  void check() const {
    for (const auto& failures : of_rank)
      for (const std::string& failure : failures)
        FAIL_CHECK(failure);
  }
};

inline bool last_error_has(const std::string& text) {
  return std::string(fgc_last_error()).find(text) != std::string::npos;
}

/// Whether ranks have something that stands in for NCCL.
enum class WithNccl { none, all, all_but_rank_1 };

/// Makes the calling thread's device, and returns a rank's settings, before `more`.
std::vector<std::string> prepare_rank(std::size_t rank, std::size_t size, int port, WithNccl nccl,
                                      const std::vector<std::string>& more);

/// Calls body(settings, rank, failures) for each rank of a job.
template <class Body>
void run_ranks_with_settings(std::size_t size, WithNccl nccl, const std::vector<std::string>& more,
                             Body body) {
  Failures failures{std::vector<std::vector<std::string>>(size)};
  const int port = free_port();
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      body(prepare_rank(rank, size, port, nccl, more), rank, failures);
      const auto& device = *current_device();
      failures.expect(rank, device.allocated() + device.pinned() == 0, "memory is given back");
    });
  }
  threads.clear();
  failures.check();
}

/// Calls body(communicator, rank, failures) for each rank of a job.
template <class Body>
void run_job(std::size_t size, Body body, WithNccl nccl = WithNccl::none,
             const std::vector<std::string>& more = {}) {
  run_ranks_with_settings(
      size, nccl, more,
      [&](const std::vector<std::string>& settings, std::size_t rank, Failures& failures) {
        std::vector<const char*> list;
        for (const std::string& setting : settings)
          list.push_back(setting.c_str());
        list.push_back(nullptr);
        fgc_comm* comm = nullptr;
        failures.expect(rank, fgc_init(list.data(), &comm) == FGC_OK, "joining");
        if (comm == nullptr) return;
        body(comm, rank, failures);
        fgc_barrier(comm);
        fgc_comm_free(comm);
      });
}

}  // namespace fastgpu::test
