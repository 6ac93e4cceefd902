#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "comm/gpu/staged.hpp"
#include "gpu/device_values.hpp"
#include "gpu/ranks_on_devices.hpp"
#include "gpu/same_as_host.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using gpu::StagedCollectives;
using test::DeviceValues;
using test::FakeDevice;
using test::OnRank;
using test::outcomes_on_devices;
using test::run_on_devices;
using Floats = std::vector<float>;
constexpr Reduction kSum{ElementType::float32, ReduceOp::sum};

TEST_SUITE_BEGIN("comm/device_collectives");

TEST_CASE("collectives on devices give what those of the host give") {
  // The last one travels in several parts, more than are on their way at a time.
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{1001}, std::size_t{5} << 20}) {
    for (int size = 1; size <= 4; ++size) {
      CAPTURE(count);
      CAPTURE(size);
      std::vector<char> is_same(static_cast<std::size_t>(size), 0);
      run_on_devices(size, [&](const OnRank& rank) {
        const auto& [comm, device, self] = rank;
        StagedCollectives staged(comm, device);
        const bool sums = test::sums_as_the_host(comm, staged, *device, count);
        const bool moves = count > 1001 || test::moves_as_the_host(comm, staged, *device, count);
        is_same[self] = static_cast<char>(sums && moves);
      });
      CHECK(is_same == std::vector<char>(is_same.size(), 1));
    }
  }
}

TEST_CASE("a call returns at once, and its work has its place in the stream") {
  std::vector<Floats> results(3);
  std::vector<char> was_early(3, 1);
  run_on_devices(3, [&](const OnRank& rank) {
    const auto& [comm, device, self] = rank;
    StagedCollectives staged(comm, device);
    const auto stream = gpu::stream_of(*device);
    DeviceValues<float> values(*device, Floats(100, -1));
    device->hold();
    device->run(stream.get(), [&] { std::ranges::fill(std::span(values.data(), 100), 2.0F); });
    const auto first = staged.all_reduce(values.bytes(), kSum, stream.get());
    const auto second = staged.all_reduce(values.bytes(), kSum, stream.get());
    was_early[self] = static_cast<char>(first->test() || second->test());
    device->go_on();
    second->wait();
    results[self] = values.read(stream.get());
  });
  CHECK(results == std::vector<Floats>(3, Floats(100, 18)));
  CHECK(was_early == std::vector<char>(3, 0));
}

TEST_CASE("memory that is not the device's is refused, and the job goes on") {
  std::vector<std::string> refusals(2);
  std::vector<Floats> results(2);
  run_on_devices(2, [&](const OnRank& rank) {
    const auto& [comm, device, self] = rank;
    StagedCollectives staged(comm, device);
    FakeDevice another;
    const DeviceValues<float> elsewhere(another, Floats(4));
    for (const auto wrong : {elsewhere.bytes(), std::as_writable_bytes(std::span(results))}) {
      try {
        staged.all_reduce(wrong.first(16), kSum, nullptr);
      } catch (const Error& e) {
        if (e.kind() == ErrorKind::usage) refusals[self] = e.what();
      }
    }
    const DeviceValues<float> values(*device, Floats(4, 1));
    staged.all_reduce(values.bytes(), kSum, nullptr)->wait();
    results[self] = values.read();
  });
  for (const std::string& refusal : refusals)
    CHECK(refusal == "the data is not in this GPU's memory");
  CHECK(results == std::vector<Floats>(2, Floats(4, 2)));
}

TEST_CASE("memory of a device that a call would read and write at once is refused") {
  std::vector<int> refused(2);
  std::vector<Floats> results(2);
  run_on_devices(2, [&](const OnRank& rank) {
    const auto& [comm, device, self] = rank;
    StagedCollectives staged(comm, device);
    const DeviceValues<float> values(*device, Floats(4, static_cast<float>(self)));
    const auto all = values.bytes();
    const auto refuse = [&, at = self](auto call) {
      refused[at] += test::failure_of(call).kind() == ErrorKind::usage;
    };
    refuse([&] { staged.reduce_scatter(all, all.first(8), kSum, nullptr); });
    refuse([&] { staged.all_to_all(all, all, nullptr); });
    refuse([&] { staged.all_gather(all.subspan(4, 8), all, nullptr); });
    staged.all_gather(all.subspan(8 * self, 8), all, nullptr)->wait();
    results[self] = values.read();
  });
  CHECK(refused == std::vector<int>{3, 3});
  CHECK(results == std::vector<Floats>(2, Floats{0, 0, 1, 1}));
}

TEST_CASE("memory that cannot be pinned is copied all the same") {
  std::vector<Floats> results(2);
  std::vector<std::size_t> pinned(2, 1);
  run_on_devices(2, [&](const OnRank& rank) {
    const auto& [comm, device, self] = rank;
    device->refuse_to_pin();
    StagedCollectives staged(comm, device);
    const DeviceValues<float> values(*device, Floats(4, 1));
    staged.all_reduce(values.bytes(), kSum, nullptr)->wait();
    results[self] = values.read();
    pinned[self] = device->pinned();
  });
  CHECK(results == std::vector<Floats>(2, Floats(4, 2)));
  CHECK(pinned == std::vector<std::size_t>(2, 0));
}

TEST_CASE("ranks that move elements of different types between devices learn it, by name") {
  for (const bool is_message : {false, true}) {
    const auto outcomes = outcomes_on_devices(2, [&](const OnRank& rank) {
      const auto& [comm, device, self] = rank;
      StagedCollectives staged(comm, device);
      const DeviceValues<float> values(*device, Floats(8, 1));
      const bool is_first = comm.rank() == Rank{0};
      const ElementType type = is_first ? ElementType::float32 : ElementType::int32;
      const auto request = !is_message ? staged.broadcast(values.bytes(), {0}, nullptr, type)
                           : is_first  ? staged.send(values.bytes(), {1}, nullptr, type)
                                       : staged.receive(values.bytes(), {0}, nullptr, type);
      request->wait();
      comm.barrier();
    });
    for (const auto& outcome : outcomes) {
      CAPTURE(is_message);
      CHECK(test::mentions(test::failure_in(outcome), "8 float32"));
      CHECK(test::mentions(test::failure_in(outcome), "8 int32"));
    }
  }
}

TEST_CASE("where a device fails, all ranks are told which and why") {
  const auto outcomes = outcomes_on_devices(3, [](const OnRank& rank) {
    const auto& [comm, device, self] = rank;
    StagedCollectives staged(comm, device);
    const DeviceValues<float> values(*device, Floats(1000, 1));
    if (comm.rank() == Rank{1}) device->hold();
    const auto request = staged.all_reduce(values.bytes(), kSum, nullptr);
    if (comm.rank() == Rank{1}) device->break_down("an uncorrectable error was met");
    request->wait();
  });
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    CAPTURE(rank);
    CHECK(test::mentions(test::failure_in(outcomes[rank]), "an uncorrectable error was met"));
    if (rank != 1) CHECK(test::mentions(test::failure_in(outcomes[rank]), "rank 1"));
  }
}

TEST_CASE("nothing is left of a device's memory once nobody needs it") {
  run_on_devices(2, [](const OnRank& rank) {
    const auto& [comm, device, self] = rank;
    {
      const DeviceValues<float> values(*device, Floats(1000, 1));
      StagedCollectives staged(comm, device);
      staged.all_reduce(values.bytes(), kSum, nullptr);  // And nobody waits for it.
      staged.all_reduce(values.bytes(), kSum, nullptr)->wait();
    }
    if (device->allocated() + device->pinned() != 0)
      throw Error(ErrorKind::internal, "memory is left");
  });
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
