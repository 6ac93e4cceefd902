// Ranks that leave while others stay.
#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::able_to_leave;
using test::communicators_in_process;
using test::failure_of;
using test::mentions;
using Clock = std::chrono::steady_clock;

TEST_SUITE_BEGIN("comm/leaving");

TEST_CASE("a rank that has done its part may leave before the others") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    for (int i = 0; i < 20; ++i) {
      auto own = able_to_leave(communicators_in_process(3, 5s, shared_memory, 2));
      CHECK_NOTHROW(test::run_ranks(own, [](std::optional<Communicator>& comm) {
        std::vector<float> values(60'001);
        comm->all_reduce(std::span(values), ReduceOp::sum);
        comm->barrier();
        comm.reset();
      }));
    }
  }
}

TEST_CASE("what a rank has sent may be asked for after it has gone") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    auto own = able_to_leave(communicators_in_process(3, 5s, shared_memory));
    std::vector<int> got(2);
    test::run_ranks(own, [&](std::optional<Communicator>& comm) {
      int number = 42;
      const auto bytes = std::as_writable_bytes(std::span(&number, 1));
      if (comm->rank() == Rank{1}) {
        comm->send(bytes, {0});
        return comm.reset();
      }
      // Of the other rank, so that this one sees meanwhile that rank 1 has gone.
      const Rank other{2 - comm->rank().value};
      std::this_thread::sleep_for(50ms);
      for (int i = 0; i < 300; ++i)
        if (comm->rank() == Rank{0})
          comm->receive(bytes, other);
        else
          comm->send(bytes, other);
      if (comm->rank() == Rank{2}) return;
      // By a fabric it takes a tenth of a second to leave.
      const auto begin = Clock::now();
      while (!comm->has_lost({1}) && Clock::now() - begin < 5s)
        std::this_thread::sleep_for(1ms);
      got[0] = comm->has_lost({1}) ? 1 : 0;
      number = 0;
      comm->receive(bytes, {1});
      got[1] = number;
    });
    CHECK(got == std::vector{1, 42});
  }
}

TEST_CASE("what a rank has not sent before it went is missed by its name") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    auto ranks = communicators_in_process(2, 60s, shared_memory);
    ranks.pop_back();
    std::vector<std::byte> bytes(100'000);
    const auto begin = Clock::now();
    while (!ranks[0].has_lost({1}))
      std::this_thread::yield();
    CHECK(mentions(failure_of([&] { ranks[0].receive(bytes, {1}); }), "rank 1"));
    CHECK(Clock::now() - begin < 20s);
  }
}

TEST_CASE("a message that needs not arrive breaks nothing, whenever its receiver goes") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    for (int run = 0; run < 5; ++run) {
      auto own = able_to_leave(communicators_in_process(3, 60s, shared_memory));
      std::vector<float> sums(own.size());
      CHECK_NOTHROW(test::run_ranks(own, [&](std::optional<Communicator>& comm) {
        const Rank rank = comm->rank();
        auto pair = comm->split(rank == Rank{1} ? -1 : 0, 0);
        if (rank == Rank{1}) return comm.reset();
        const std::vector<std::byte> small(9), large(1'000'000);
        std::vector<Handle> handles;
        for (int i = 0; !comm->has_lost({1}); ++i) {
          comm->send(small, {1}, ElementType::uint8, IfGone::is_ignored);
          if (i < 3)
            handles.push_back(comm->start_send(large, {1}, ElementType::uint8, IfGone::is_ignored));
        }
        for (Handle& handle : handles)
          handle.wait();
        comm->send(small, {1}, ElementType::uint8, IfGone::is_ignored);
        sums[static_cast<std::size_t>(rank.value)] = 1;
        pair->all_reduce(std::span(&sums[static_cast<std::size_t>(rank.value)], 1), ReduceOp::sum);
      }));
      CHECK(sums == std::vector{2.0F, 0.0F, 2.0F});
    }
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
