#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "comm/gpu/choose.hpp"
#include "comm/gpu/staged.hpp"
#include "gpu/device_values.hpp"
#include "gpu/ranks_on_devices.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using gpu::DeviceCollectives;
using test::DeviceValues;
using test::OnRank;
using Floats = std::vector<float>;

enum class By { way_of_the_host, nccl };
constexpr By kWays[] = {By::way_of_the_host, By::nccl};

std::unique_ptr<DeviceCollectives> collectives_of(const OnRank& rank, By by) {
  if (by == By::way_of_the_host)
    return std::make_unique<gpu::StagedCollectives>(rank.comm, rank.device);
  rank.install_nccl();
  return gpu::choose_path(rank.comm, rank.device, {.path = gpu::DevicePath::nccl}).nccl;
}

/// Calls body(rank, collectives) on every rank; the ranks leave together.
template <class Body>
void run_by(By by, int size, Body body) {
  test::run_on_devices(size, [&](const OnRank& rank) {
    const auto collectives = collectives_of(rank, by);
    body(rank, *collectives);
    rank.comm.barrier();
  });
}

TEST_SUITE_BEGIN("comm/device_messages");

TEST_CASE("two ranks send to each other at the same time, and nobody waits for ever") {
  for (const By by : kWays) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{3} << 20}) {
      CAPTURE(static_cast<int>(by));
      CAPTURE(count);
      std::vector<Floats> got(2);
      run_by(by, 2, [&](const OnRank& rank, DeviceCollectives& collectives) {
        const Rank other{static_cast<int>(1 - rank.self)};
        const DeviceValues<float> mine(*rank.device, Floats(count, static_cast<float>(rank.self)));
        const DeviceValues<float> theirs(*rank.device, Floats(count, -1));
        const auto sent = collectives.send(mine.bytes(), other, nullptr);
        const auto received = collectives.receive(theirs.bytes(), other, nullptr);
        sent->wait();
        received->wait();
        got[rank.self] = theirs.read();
      });
      CHECK(got == std::vector<Floats>{Floats(count, 1), Floats(count, 0)});
    }
  }
}

TEST_CASE("messages keep their order, and their place in the stream") {
  for (const By by : kWays) {
    CAPTURE(static_cast<int>(by));
    Floats got;
    run_by(by, 2, [&](const OnRank& rank, DeviceCollectives& collectives) {
      const auto stream = gpu::stream_of(*rank.device);
      const DeviceValues<float> value(*rank.device, Floats(1));
      for (int i = 1; i <= 20; ++i) {
        if (rank.self == 0) {
          rank.device->run(stream.get(), [&value, i] { *value.data() = static_cast<float>(i); });
          collectives.send(value.bytes(), {1}, stream.get())->wait();
        } else {
          collectives.receive(value.bytes(), {0}, stream.get())->wait();
          got.push_back(value.read(stream.get())[0]);
        }
      }
      value.read(stream.get());  // Nothing of it is under way any more.
    });
    Floats expected;
    for (int i = 1; i <= 20; ++i)
      expected.push_back(static_cast<float>(i));
    CHECK(got == expected);
  }
}

TEST_CASE("what goes to one rank does not wait for another") {
  for (const By by : kWays) {
    CAPTURE(static_cast<int>(by));
    Floats got(2);
    run_by(by, 3, [&](const OnRank& rank, DeviceCollectives& collectives) {
      const DeviceValues<float> value(*rank.device, Floats(1, static_cast<float>(10 + rank.self)));
      const DeviceValues<float> in(*rank.device, Floats(1));
      if (rank.self == 0) {  // Rank 1 takes its own only after rank 2 has, and has answered.
        const auto first = collectives.send(value.bytes(), {1}, nullptr);
        const auto second = collectives.send(value.bytes(), {2}, nullptr);
        second->wait();
        first->wait();
      } else if (rank.self == 2) {
        collectives.receive(in.bytes(), {0}, nullptr)->wait();
        collectives.send(in.bytes(), {1}, nullptr)->wait();
      } else {
        collectives.receive(in.bytes(), {2}, nullptr)->wait();
        got[0] = in.read()[0];
        collectives.receive(in.bytes(), {0}, nullptr)->wait();
        got[1] = in.read()[0];
      }
      value.read();  // Nothing of it is under way any more.
    });
    CHECK(got == Floats{10, 10});
  }
}

TEST_CASE("collectives and messages are mixed as the program likes") {
  for (const By by : kWays) {
    CAPTURE(static_cast<int>(by));
    std::vector<Floats> got(2);
    run_by(by, 2, [&](const OnRank& rank, DeviceCollectives& collectives) {
      const Rank other{static_cast<int>(1 - rank.self)};
      const DeviceValues<float> mine(*rank.device, Floats(4, static_cast<float>(rank.self + 1)));
      const DeviceValues<float> theirs(*rank.device, Floats(4));
      for (int i = 0; i < 3; ++i) {
        const auto sent = collectives.send(mine.bytes(), other, nullptr);
        const auto received = collectives.receive(theirs.bytes(), other, nullptr);
        received->wait();
        sent->wait();
        collectives.all_reduce(theirs.bytes(), {ElementType::float32, ReduceOp::sum}, nullptr)
            ->wait();
      }
      got[rank.self] = theirs.read();
    });
    CHECK(got == std::vector<Floats>(2, Floats(4, 3)));
  }
}

TEST_CASE("messages to oneself, and to ranks that there are not, are refused") {
  for (const By by : kWays) {
    std::vector<std::string> refusals(2);
    run_by(by, 2, [&](const OnRank& rank, DeviceCollectives& collectives) {
      const DeviceValues<float> value(*rank.device, Floats(1));
      for (const int peer : {static_cast<int>(rank.self), 7}) {
        try {
          collectives.send(value.bytes(), {peer}, nullptr);
        } catch (const Error& e) {
          refusals[rank.self] += std::string(e.what()) + ";";
        }
      }
    });
    CHECK(refusals ==
          std::vector<std::string>(
              2, "a rank sends no messages to itself;send: there is no rank 7 among 2;"));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
