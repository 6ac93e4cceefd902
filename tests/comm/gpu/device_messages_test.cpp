#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/gpu/choose.hpp"
#include "comm/gpu/staged.hpp"
#include "comm/transports/fabric_transport.hpp"
#include "gpu/device_values.hpp"
#include "gpu/fake_device.hpp"
#include "gpu/ranks_on_devices.hpp"
#include "support/connect_in_process.hpp"
#include "support/fabric_in_process.hpp"
#include "support/failure.hpp"
#include "support/run_ranks.hpp"

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

/// Takes long memory for that of a GPU.
fabric::MemoryLocation on_gpu(const void* /*memory*/) {
  return {.kind = fabric::MemoryKind::cuda, .device = 0};
}

/// Two ranks between which a fabric carries the messages, that takes memory of GPUs or does not.
std::vector<Communicator> ranks_by(const std::shared_ptr<test::FabricWire>& wire) {
  auto connections = test::sockets_in_process(2, std::chrono::seconds(20));
  test::run_ranks(connections, [](Connections& rank) {
    introduce(rank, {.shared_memory = SharedMemory::off, .flows = 1},
              Deadline(std::chrono::seconds(20)));
  });
  for (Connections& rank : connections)
    rank.fabric = std::make_unique<FabricTransport>(rank.rank, 2, wire->endpoint());
  std::vector<Communicator> ranks;
  for (std::size_t r = 0; r < 2; ++r) {
    const FabricTransport& other = *connections[1 - r].fabric;
    REQUIRE(connections[r].fabric->connect({static_cast<int>(1 - r)}, other.card()));
  }
  for (Connections& rank : connections) {
    rank.fabric->device_memory().find_locations_by(on_gpu);
    ranks.emplace_back(std::move(rank));
  }
  return ranks;
}

/// Two ranks send floats from one device's memory to the other's; returns what each has got.
std::vector<Floats> exchanged(std::vector<Communicator>& ranks, std::size_t count) {
  std::vector<Floats> got(2);
  test::run_ranks(ranks, [&](Communicator& comm) {
    const auto self = static_cast<std::size_t>(comm.rank().value);
    const auto device = std::make_shared<test::FakeDevice>();
    gpu::StagedCollectives collectives(comm, device);
    const Rank other{1 - comm.rank().value};
    const DeviceValues<float> mine(*device, Floats(count, static_cast<float>(self + 1)));
    const DeviceValues<float> theirs(*device, Floats(count, -1));
    const auto sent = collectives.send(mine.bytes(), other, nullptr);
    const auto received = collectives.receive(theirs.bytes(), other, nullptr);
    sent->wait();
    received->wait();
    got[self] = theirs.read();
    comm.barrier();
  });
  return got;
}

std::uint64_t direct_bytes_of(const Communicator& comm) {
  std::uint64_t bytes = 0;
  for (const LinkCounters& link : comm.links())
    bytes += link.direct_bytes;
  return bytes;
}

TEST_SUITE_BEGIN("comm/device_messages");

TEST_CASE("messages go directly between GPUs where the fabric takes their memory") {
  constexpr std::size_t kPart = std::size_t{4} << 20;
  struct Message {
    std::size_t floats = 0;
    std::uint64_t direct = 0;  ///< The bytes that do not pass through the host, each way.
  };
  // In a frame, in one part, and in several of which the last is short.
  for (const Message& message : {Message{7, 0}, Message{70'001, 280'004},
                                 Message{3 * kPart / sizeof(float) + 3, 3 * kPart}}) {
    CAPTURE(message.floats);
    const test::WireTraits able{.put = fabric::Put::with_data, .takes_device_memory = true};
    auto ranks = ranks_by(std::make_shared<test::FabricWire>(able));
    const std::vector<Floats> got = exchanged(ranks, message.floats);
    CHECK(got == std::vector<Floats>{Floats(message.floats, 2), Floats(message.floats, 1)});
    CHECK(direct_bytes_of(ranks[0]) == 2 * message.direct);
  }
}

TEST_CASE("messages between GPUs pass through the host where the fabric takes no such memory") {
  constexpr std::size_t kCount = 70'001;
  auto ranks =
      ranks_by(std::make_shared<test::FabricWire>(test::WireTraits{.put = fabric::Put::with_data}));
  CHECK(exchanged(ranks, kCount) == std::vector<Floats>{Floats(kCount, 2), Floats(kCount, 1)});
  CHECK(direct_bytes_of(ranks[0]) == 0);
}

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
