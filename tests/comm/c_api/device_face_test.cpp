// The C++ face of the C ABI on device memory.
#include <doctest/doctest.h>
#include <fastgpu_comm.hpp>

#include <span>
#include <string>
#include <vector>

#include "comm/c_api/device_job.hpp"
#include "gpu/device_values.hpp"

namespace fastgpu::comm {
namespace {

using test::DeviceValues;
using test::Failures;
using test::WithNccl;
using Floats = std::vector<float>;

/// Floats on the device of the calling rank.
class OnGpu {
 public:
  explicit OnGpu(const Floats& values)
      : count_(values.size()), values_(*test::current_device(), values) {}

  std::span<float> span() const { return {values_.data(), count_}; }
  Floats read() const { return values_.read(); }

 private:
  std::size_t count_;
  DeviceValues<float> values_;
};

/// Of rank 0 and rank 1.
void try_collectives(fgc::Communicator& comm, std::size_t rank, Failures& failures) {
  const auto mine = static_cast<float>(rank);
  fgc::OnDevice gpu(comm);
  const OnGpu part(Floats(3, mine)), whole(Floats(6, 9)), other(Floats(6, 9));
  gpu.all_gather(part.span(), whole.span());
  failures.expect(rank, whole.read() == Floats{0, 0, 0, 1, 1, 1}, "all-gather");
  gpu.all_to_all(whole.span(), other.span());
  failures.expect(rank, other.read() == Floats(6, mine), "all-to-all");
  gpu.reduce_scatter(whole.span(), part.span());
  failures.expect(rank, part.read() == Floats(3, 2 * mine), "reduce-scatter");
  gpu.broadcast(part.span(), 1);
  failures.expect(rank, part.read() == Floats(3, 2), "broadcast");
  gpu.all_reduce(part.span(), FGC_PRODUCT);
  failures.expect(rank, part.read() == Floats(3, 4), "all-reduce");
  try {
    gpu.all_gather(part.span(), part.span());
    failures.expect(rank, false, "lengths are looked at");
  } catch (const fgc::Error& e) {
    failures.expect(rank, e.status() == FGC_USAGE, "lengths are the caller's");
  }
}

void try_requests(fgc::Communicator& comm, std::size_t rank, Failures& failures) {
  const int peer = rank == 0 ? 1 : 0;
  fgc::OnDevice gpu(comm);
  const OnGpu part(Floats(3, static_cast<float>(rank))), whole(Floats(6, 9)), other(Floats(6, 9));
  gpu.all_gather_async(part.span(), whole.span()).wait();
  gpu.all_to_all_async(whole.span(), other.span()).wait();
  gpu.reduce_scatter_async(whole.span(), part.span()).wait();
  gpu.broadcast_async(part.span(), 1).wait();
  gpu.all_reduce_async(part.span()).wait();
  failures.expect(rank, part.read() == Floats(3, 4), "requests");
  const OnGpu mine(Floats(3, static_cast<float>(rank)));
  fgc::Request sent = gpu.send_async(mine.span(), peer);
  fgc::Request received = gpu.recv_async(part.span(), peer);
  received.wait();
  sent.wait();
  failures.expect(rank, part.read() == Floats(3, static_cast<float>(peer)), "messages");
  if (rank == 0)
    gpu.send(mine.span(), peer);
  else
    gpu.recv(part.span(), peer);
  failures.expect(rank, part.read() == Floats(3, rank == 0 ? 1 : 0), "a message");
}

void try_gradients(fgc::Communicator& comm, std::size_t rank, Failures& failures) {
  const OnGpu values(Floats(5, static_cast<float>(2 * rank)));
  fgc::Gradients gradients(comm);
  const std::size_t id = gradients.add("values", values.span(), 0, FGC_DEVICE);
  gradients.ready(id, nullptr);
  failures.expect(rank, gradients.wait(nullptr).is_applied == 1, "a step");
  failures.expect(rank, values.read() == Floats(5, 1), "its averages");
}

TEST_SUITE_BEGIN("comm/device_face");

TEST_CASE("C++ has every call on device memory, staged and by NCCL") {
  for (const WithNccl nccl : {WithNccl::none, WithNccl::all}) {
    test::run_ranks_with_settings(
        2, nccl, {}, [&](const fgc::Settings& settings, std::size_t rank, Failures& failures) {
          try {
            fgc::Communicator comm(settings);
            const fgc::DevicePath way = fgc::OnDevice(comm).path();
            failures.expect(rank, (way.way == FGC_DEVICE_NCCL) == (nccl == WithNccl::all), "way");
            failures.expect(rank, way.why_staged.empty() == (nccl == WithNccl::all), "and why");
            try_collectives(comm, rank, failures);
            try_requests(comm, rank, failures);
            try_gradients(comm, rank, failures);
            comm.barrier();
          } catch (const fgc::Error& e) {
            failures.expect(rank, false, e.what());
          }
        });
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
