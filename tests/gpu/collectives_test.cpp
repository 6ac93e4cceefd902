// Ranks that are threads of the test, on one GPU.
#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "comm/gpu/choose.hpp"
#include "comm/gpu/cuda_device.hpp"
#include "comm/gpu/staged.hpp"
#include "gpu/same_as_host.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm::gpu {
namespace {

using test::DeviceValues;
using Floats = std::vector<float>;
constexpr Reduction kSum{ElementType::float32, ReduceOp::sum};

/// Calls body(communicator, device) on every rank.
template <class Body>
void run_on_one_gpu(int size, Body body) {
  auto ranks = test::communicators_in_process(size, std::chrono::seconds(20));
  test::run_ranks(ranks, [&](Communicator& comm) { body(comm, std::make_shared<CudaDevice>()); });
}

std::size_t place(const Communicator& comm) {
  return static_cast<std::size_t>(comm.rank().value);
}

bool is_nccl_here() {
  try {
    static_cast<void>(CudaDevice().load_nccl(""));
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST_SUITE_BEGIN("gpu/collectives");

TEST_CASE("by way of the host, collectives on a GPU give what those of the host give") {
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{1001}, std::size_t{5} << 20}) {
    for (int size = 1; size <= 4; ++size) {
      CAPTURE(count);
      CAPTURE(size);
      std::vector<char> is_same(static_cast<std::size_t>(size), 0);
      run_on_one_gpu(size, [&](Communicator& comm, const std::shared_ptr<Device>& device) {
        StagedCollectives staged(comm, device);
        const bool sums = test::sums_as_the_host(comm, staged, *device, count);
        const bool moves = test::moves_as_the_host(comm, staged, *device, count);
        is_same[place(comm)] = static_cast<char>(sums && moves);
      });
      CHECK(is_same == std::vector<char>(is_same.size(), 1));
    }
  }
}

TEST_CASE("a call comes after what its stream holds, and what follows comes after it") {
  constexpr std::size_t kCount = 8 << 20;  // Copies that take longer than putting calls in.
  std::vector<Floats> results(2);
  run_on_one_gpu(2, [&](Communicator& comm, const std::shared_ptr<Device>& device) {
    StagedCollectives staged(comm, device);
    const auto stream = stream_of(*device);
    const DeviceValues<float> ones(*device, Floats(kCount, 1));
    const DeviceValues<float> values(*device, Floats(kCount, -1));
    const DeviceValues<float> after(*device, Floats(kCount, -1));
    for (int i = 0; i < 20; ++i)
      device->copy(values.bytes(), ones.bytes(), stream.get());
    const auto first = staged.all_reduce(values.bytes(), kSum, stream.get());
    const auto second = staged.all_reduce(values.bytes(), kSum, stream.get());
    second->wait();
    device->copy(after.bytes(), values.bytes(), stream.get());
    results[place(comm)] = after.read(stream.get());
  });
  CHECK(results[0] == Floats(kCount, 4));
  CHECK(results[1] == Floats(kCount, 4));
}

TEST_CASE("messages between ranks on one GPU arrive as they were sent") {
  std::vector<Floats> got(2);
  run_on_one_gpu(2, [&](Communicator& comm, const std::shared_ptr<Device>& device) {
    StagedCollectives staged(comm, device);
    const Rank other{1 - comm.rank().value};
    const DeviceValues<float> mine(*device, test::numbers(3 << 20, comm.rank()));
    const DeviceValues<float> theirs(*device, Floats(3 << 20, -1));
    const auto sent = staged.send(mine.bytes(), other, nullptr);
    staged.receive(theirs.bytes(), other, nullptr)->wait();
    sent->wait();
    got[place(comm)] = theirs.read();
  });
  CHECK(got[0] == test::numbers(3 << 20, Rank{1}));
  CHECK(got[1] == test::numbers(3 << 20, Rank{0}));
}

TEST_CASE("memory of the host is refused") {
  run_on_one_gpu(1, [](Communicator& comm, const std::shared_ptr<Device>& device) {
    StagedCollectives staged(comm, device);
    Floats host(4, 1);
    const auto wrong = std::as_writable_bytes(std::span(host));
    const Error refusal = test::failure_of([&] { staged.all_reduce(wrong, kSum, nullptr); });
    if (refusal.kind() != ErrorKind::usage) throw Error(ErrorKind::internal, refusal.what());
  });
}

TEST_CASE("a rank with a GPU of its own has NCCL, where that is installed") {
  if (!is_nccl_here()) return;
  bool is_same = false;
  run_on_one_gpu(1, [&](Communicator& comm, const std::shared_ptr<Device>& device) {
    const ChosenPath path = choose_path(comm, device, {});
    if (!path.nccl) throw Error(ErrorKind::internal, path.why_staged);
    is_same = test::sums_as_the_host(comm, *path.nccl, *device, 1001) &&
              test::moves_as_the_host(comm, *path.nccl, *device, 1001);
  });
  CHECK(is_same);
}

TEST_CASE("two ranks with one GPU go by way of the host, and say why") {
  if (!is_nccl_here()) return;
  std::vector<std::string> reasons(2);
  run_on_one_gpu(2, [&](Communicator& comm, const std::shared_ptr<Device>& device) {
    reasons[place(comm)] = choose_path(comm, device, {}).why_staged;
  });
  CHECK(reasons == std::vector<std::string>(2, "rank 0 and rank 1 use the same GPU"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm::gpu
