#include <doctest/doctest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <vector>

#include "comm/gpu/nccl_collectives.hpp"
#include "gpu/device_values.hpp"
#include "gpu/ranks_on_devices.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using gpu::NcclCollectives;
using gpu::NcclFunctions;
using test::DeviceValues;
using test::OnRank;
using test::outcomes_on_devices;
using test::run_on_devices;
using Floats = std::vector<float>;
constexpr Reduction kNcclSum{ElementType::float32, ReduceOp::sum};

std::shared_ptr<gpu::NcclLibrary> fake(const NcclFunctions& functions = test::fake_nccl()) {
  return std::make_shared<gpu::NcclLibrary>(functions);
}

NcclCollectives collectives_of(const OnRank& rank,
                               const NcclFunctions& functions = test::fake_nccl()) {
  return {*rank.comm.split(0, 0), rank.device, fake(functions)};
}

/// Powers of two and the rank: whole numbers, whose sums and averages are exact for 1, 2 and 4.
Floats numbers(std::size_t count, std::size_t rank) {
  Floats values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(4 * (i % 100) + 8 * rank);
  return values;
}

TEST_SUITE_BEGIN("comm/device_nccl");

TEST_CASE("collectives by NCCL give what those of the host give") {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1001}}) {
    for (const int size : {1, 2, 4}) {
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::average, ReduceOp::max, ReduceOp::min}) {
        CAPTURE(count);
        CAPTURE(size);
        CAPTURE(static_cast<int>(op));
        std::vector<int> differences(static_cast<std::size_t>(size));
        run_on_devices(size, [&](const OnRank& rank) {
          auto nccl = collectives_of(rank);
          const Reduction reduction{ElementType::float32, op};
          const auto check = [&](const auto& on_device, const Floats& on_host) {
            differences[rank.self] += on_device.read() == on_host ? 0 : 1;
          };
          Floats part = numbers(count, rank.self);
          Floats whole = numbers(count * static_cast<std::size_t>(size), rank.self);
          Floats other(whole.size());
          const DeviceValues<float> device_part(*rank.device, part);
          const DeviceValues<float> device_whole(*rank.device, whole);
          const DeviceValues<float> device_other(*rank.device, other);
          nccl.all_reduce(device_part.bytes(), reduction, nullptr)->wait();
          rank.comm.all_reduce(std::as_writable_bytes(std::span(part)), reduction);
          check(device_part, part);
          nccl.reduce_scatter(device_whole.bytes(), device_part.bytes(), reduction, nullptr)
              ->wait();
          rank.comm.reduce_scatter(std::as_bytes(std::span(whole)),
                                   std::as_writable_bytes(std::span(part)), reduction);
          check(device_part, part);
          nccl.all_gather(device_part.bytes(), device_whole.bytes(), nullptr)->wait();
          rank.comm.all_gather(std::as_bytes(std::span(part)),
                               std::as_writable_bytes(std::span(whole)));
          check(device_whole, whole);
          nccl.all_to_all(device_whole.bytes(), device_other.bytes(), nullptr)->wait();
          rank.comm.all_to_all(std::as_bytes(std::span(whole)),
                               std::as_writable_bytes(std::span(other)));
          check(device_other, other);
          nccl.broadcast(device_other.bytes(), {size - 1}, nullptr)->wait();
          rank.comm.broadcast(std::as_writable_bytes(std::span(other)), {size - 1});
          check(device_other, other);
        });
        CHECK(differences == std::vector<int>(differences.size(), 0));
      }
    }
  }
}

TEST_CASE("a call returns at once, and its work has its place in the stream") {
  std::vector<Floats> results(2);
  run_on_devices(2, [&](const OnRank& rank) {
    auto nccl = collectives_of(rank);
    const auto stream = gpu::stream_of(*rank.device);
    const DeviceValues<float> values(*rank.device, Floats(100, -1));
    rank.device->hold();
    rank.device->run(stream.get(), [&] { std::ranges::fill(std::span(values.data(), 100), 2.0F); });
    const auto first = nccl.all_reduce(values.bytes(), kNcclSum, stream.get());
    first->wait();
    rank.device->run(stream.get(), [&] { values.data()[7] += 1; });
    rank.device->go_on();
    results[rank.self] = values.read(stream.get());
  });
  Floats expected(100, 4);
  expected[7] = 5;
  CHECK(results == std::vector<Floats>(2, expected));
}

TEST_CASE("a rank that goes ends the calls of the others, by name, and their streams go on") {
  const auto began = Clock::now();
  std::vector<std::string> next(3);
  std::latch called(2);  // Who calls once it is known that a rank has gone is told at once.
  const auto outcomes = outcomes_on_devices(
      3,
      [&](const OnRank& rank) {
        auto nccl = std::make_unique<NcclCollectives>(*rank.comm.split(0, 0), rank.device, fake());
        const DeviceValues<float> values(*rank.device, Floats(10, 1));
        nccl->all_reduce(values.bytes(), kNcclSum, nullptr)->wait_here();
        if (rank.self == 1) {
          called.wait();
          nccl.reset();
          const Communicator gone = std::move(rank.comm);
          return;
        }
        const auto request = nccl->all_reduce(values.bytes(), kNcclSum, nullptr);
        request->wait();
        called.count_down();
        values.read();  // The stream is not stuck in the call.
        try {
          rank.comm.barrier();
        } catch (const Error& e) {
          next[rank.self] = e.what();
        }
        request->wait_here();
      },
      60s);
  CHECK(Clock::now() - began < 20s);
  CHECK_FALSE(outcomes[1]);
  for (const std::size_t rank : {0, 2}) {
    CAPTURE(rank);
    CHECK(test::mentions(test::failure_in(outcomes[rank]), "rank 1"));
    const std::string other =
        "rank " + std::to_string(2 - rank);  // It may have gone, too, by then.
    CAPTURE(next[rank]);
    CHECK((next[rank].find("rank 1") != std::string::npos ||
           next[rank].find(other) != std::string::npos));
  }
}

std::latch first_has_gone(1);
std::atomic<int> looks = 0;  // After the other rank.

TEST_CASE("a rank may leave once its own part is done, though another's ends a little later") {
  NcclFunctions slow = test::fake_nccl();
  slow.all_reduce = [](const void* from, void* to, std::size_t count, int type, int op,
                       gpu::NcclComm* comm, gpu::StreamHandle stream) {
    const int result = test::fake_nccl().all_reduce(from, to, count, type, op, comm, stream);
    test::FakeDevice::current()->run(stream, [] {
      first_has_gone.wait();
      const int before = looks;
      while (looks < before + 2)  // Its absence has been noticed by the second.
        std::this_thread::yield();
    });
    return result;
  };
  slow.comm_get_async_error = [](gpu::NcclComm* comm, int* result) {
    ++looks;
    return test::fake_nccl().comm_get_async_error(comm, result);
  };
  std::vector<Floats> results(2);
  const auto outcomes = outcomes_on_devices(2, [&](const OnRank& rank) {
    auto nccl = std::make_unique<NcclCollectives>(*rank.comm.split(0, 0), rank.device,
                                                  rank.self == 0 ? fake() : fake(slow));
    const DeviceValues<float> values(*rank.device, Floats(10, 1));
    const auto request = nccl->all_reduce(values.bytes(), kNcclSum, nullptr);
    request->wait_here();
    results[rank.self] = values.read();
    if (rank.self == 1) return;
    nccl.reset();
    { const Communicator gone = std::move(rank.comm); }
    first_has_gone.count_down();
  });
  for (const auto& outcome : outcomes)
    CHECK_FALSE(outcome);
  CHECK(results == std::vector<Floats>(2, Floats(10, 2)));
}

std::atomic<Communicator*> second = nullptr;  ///< Of the rank that NCCL keeps waiting.
std::atomic<int> times_missed = 0;            ///< That the other was seen to be gone.

TEST_CASE("a rank may leave while NCCL still takes another's part of the same call") {
  NcclFunctions busy = test::fake_nccl();
  busy.comm_get_async_error = [](gpu::NcclComm* comm, int* result) {
    const int code = test::fake_nccl().comm_get_async_error(comm, result);
    if (second.load() == nullptr) return code;
    times_missed += second.load()->trouble() ? 1 : 0;
    if (times_missed < 2) *result = gpu::nccl::kInProgress;
    return code;
  };
  busy.all_reduce = [](const void* from, void* to, std::size_t count, int type, int op,
                       gpu::NcclComm* comm, gpu::StreamHandle stream) {
    test::fake_nccl().all_reduce(from, to, count, type, op, comm, stream);
    return gpu::nccl::kInProgress;
  };
  std::vector<Floats> results(2);
  const auto outcomes = outcomes_on_devices(2, [&](const OnRank& rank) {
    auto nccl = std::make_unique<NcclCollectives>(*rank.comm.split(0, 0), rank.device,
                                                  rank.self == 0 ? fake() : fake(busy));
    const DeviceValues<float> values(*rank.device, Floats(10, 1));
    if (rank.self == 1) second = &rank.comm;
    nccl->all_reduce(values.bytes(), kNcclSum, nullptr)->wait_here();
    results[rank.self] = values.read();
    if (rank.self == 1) return;
    nccl.reset();
    const Communicator gone = std::move(rank.comm);
  });
  second = nullptr;
  for (const auto& outcome : outcomes)
    CHECK_FALSE(outcome);
  CHECK(results == std::vector<Floats>(2, Floats(10, 2)));
}

std::atomic<bool> has_broken = false;

TEST_CASE("an error that NCCL tells later ends the calls of all ranks") {
  has_broken = false;
  NcclFunctions functions = test::fake_nccl();
  functions.comm_get_async_error = [](gpu::NcclComm* comm, int* result) {
    if (!has_broken) return test::fake_nccl().comm_get_async_error(comm, result);
    *result = gpu::nccl::kRemoteError;
    return gpu::nccl::kSuccess;
  };
  const auto outcomes = outcomes_on_devices(2, [&](const OnRank& rank) {
    auto nccl = collectives_of(rank, rank.self == 0 ? functions : test::fake_nccl());
    const DeviceValues<float> values(*rank.device, Floats(10, 1));
    rank.comm.barrier();
    if (rank.self == 1) return rank.comm.barrier();
    has_broken = true;
    nccl.all_reduce(values.bytes(), kNcclSum, nullptr)->wait_here();
  });
  for (const auto& outcome : outcomes)
    CHECK(test::mentions(test::failure_in(outcome), "remote process exited"));
  CHECK(test::mentions(test::failure_in(outcomes[1]), "rank 0"));
}

TEST_CASE("a call that is refused ends the calls of all ranks") {
  NcclFunctions functions = test::fake_nccl();
  functions.all_reduce = [](auto...) { return 5; };
  const auto outcomes = outcomes_on_devices(2, [&](const OnRank& rank) {
    auto nccl = collectives_of(rank, rank.self == 0 ? functions : test::fake_nccl());
    const DeviceValues<float> values(*rank.device, Floats(10, 1));
    const auto request = nccl.all_reduce(values.bytes(), kNcclSum, nullptr);
    request->wait_here();
  });
  for (const auto& outcome : outcomes)
    CHECK(test::mentions(test::failure_in(outcome), "invalid usage"));
  CHECK(test::mentions(test::failure_in(outcomes[1]), "rank 0"));
}

TEST_CASE("a call that a rank never makes fails after FASTGPU_COMM_TIMEOUT") {
  std::latch has_failed(1);
  const auto outcomes = outcomes_on_devices(
      2,
      [&](const OnRank& rank) {
        auto nccl = collectives_of(rank);
        const DeviceValues<float> values(*rank.device, Floats(10, 1));
        if (rank.self == 1) return has_failed.wait();
        const auto request = nccl.all_reduce(values.bytes(), kNcclSum, nullptr);
        request->finish();
        has_failed.count_down();
        request->wait_here();
      },
      2s);
  CHECK_FALSE(outcomes[1]);
  const Error failure = test::failure_in(outcomes[0]);
  CHECK(failure.kind() == ErrorKind::transient);
  CHECK(test::mentions(failure, "has not ended within 2s"));
}

TEST_CASE("a call waits for its stream as long as that takes, and is not late by it") {
  std::vector<Floats> results(2);
  std::atomic<bool> may_go_on = false;
  const auto outcomes = outcomes_on_devices(
      2,
      [&](const OnRank& rank) {
        auto nccl = collectives_of(rank);
        const auto stream = gpu::stream_of(*rank.device);
        const DeviceValues<float> values(*rank.device, Floats(10, 1));
        rank.device->run(stream.get(), [&] { may_go_on.wait(false); });
        const auto request = nccl.all_reduce(values.bytes(), kNcclSum, stream.get());
        if (rank.self == 0) {
          const auto begun = Clock::now();
          while (Clock::now() - begun < 1300ms)
            request->test();
          may_go_on = true;
          may_go_on.notify_all();
        }
        request->wait_here();
        results[rank.self] = values.read();
      },
      1s);
  for (const auto& outcome : outcomes)
    CHECK_FALSE(outcome);
  CHECK(results == std::vector<Floats>(2, Floats(10, 2)));
}

TEST_CASE("a device that fails ends the calls of all ranks") {
  const auto outcomes = outcomes_on_devices(2, [](const OnRank& rank) {
    auto nccl = collectives_of(rank);
    const DeviceValues<float> values(*rank.device, Floats(10, 1));
    if (rank.self == 1) rank.device->hold();
    const auto request = nccl.all_reduce(values.bytes(), kNcclSum, nullptr);
    if (rank.self == 1) rank.device->break_down("an uncorrectable error was met");
    request->wait_here();
  });
  for (const auto& outcome : outcomes)
    CHECK(test::mentions(test::failure_in(outcome), "an uncorrectable error was met"));
  CHECK(test::mentions(test::failure_in(outcomes[0]), "rank 1"));
}

TEST_CASE("nothing is left once nobody needs it, waited for or not") {
  run_on_devices(2, [](const OnRank& rank) {
    {
      const DeviceValues<float> values(*rank.device, Floats(1000, 1));
      auto nccl = collectives_of(rank);
      nccl.all_reduce(values.bytes(), kNcclSum, nullptr);
      nccl.send(values.bytes(), {static_cast<int>(1 - rank.self)}, nullptr);
      nccl.receive(values.bytes(), {static_cast<int>(1 - rank.self)}, nullptr);
    }
    if (rank.device->allocated() != 0) throw Error(ErrorKind::internal, "memory is left");
  });
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
