#include "comm/communicator/communicator.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/run_ranks.hpp"
#include "support/transport_checks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::communicators_in_process;
using test::failure_in;
using test::failure_of;
using test::mentions;
using test::outcomes_of_ranks;

TEST_SUITE_BEGIN("comm/communicator");

TEST_CASE("ranks that reduce different lengths are told which rank and which lengths") {
  auto ranks = communicators_in_process(2, 5s);
  const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
    std::vector<float> values(comm.rank() == Rank{0} ? 10 : 12);
    comm.all_reduce(std::span(values), ReduceOp::sum);
  });
  const Error e = failure_in(outcomes[0]);
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(mentions(e, "rank 1 is in all_reduce number 0 (sum of 12 float32)"));
  CHECK(mentions(e, "sum of 10 float32"));
  CHECK(failure_in(outcomes[1]).kind() == ErrorKind::usage);
}

TEST_CASE("ranks in different collectives are told so") {
  auto ranks = communicators_in_process(2, 5s);
  const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
    std::vector<float> values(3);
    if (comm.rank() == Rank{0})
      comm.barrier();
    else
      comm.all_reduce(std::span(values), ReduceOp::min);
  });
  CHECK(mentions(failure_in(outcomes[0]), "rank 1 is in all_reduce number 0 (min of 3 float32)"));
  CHECK(mentions(failure_in(outcomes[1]), "rank 0 is in barrier number 0"));
}

TEST_CASE("ranks in different collectives are told so by every transport, whatever comes first") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off})
    for (int run = 0; run < 20; ++run) {
      auto ranks = communicators_in_process(3, 5s, shared_memory, 2);
      const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
        std::vector<float> values(10);
        if (comm.rank() == Rank{2})
          comm.barrier();
        else
          comm.all_reduce(std::span(values), ReduceOp::sum);
      });
      for (const auto& outcome : outcomes) {
        const Error e = failure_in(outcome);
        CHECK(e.kind() == ErrorKind::usage);
        CHECK(mentions(e, "rank 2 is in barrier number 0"));
      }
    }
}

TEST_CASE("a rank that makes groups while another does not is said to split") {
  auto ranks = communicators_in_process(2, 5s);
  const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
    if (comm.rank() == Rank{0})
      comm.split(0, 0);
    else
      comm.barrier();
  });
  CHECK(mentions(failure_in(outcomes[1]), "rank 0 is in split number 0, but rank 1 is in barrier"));
}

TEST_CASE("a rank that missed a call is told by the number of the call") {
  auto ranks = communicators_in_process(2, 5s);
  const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
    float value = 0;
    if (comm.rank() == Rank{0}) comm.broadcast(std::as_writable_bytes(std::span(&value, 1)), {0});
    comm.barrier();
  });
  CHECK(failure_in(outcomes[1]).kind() == ErrorKind::usage);
  CHECK(mentions(failure_in(outcomes[1]), "broadcast number 0"));
}

TEST_CASE("what a rank that is ahead has called is known when this one gets there") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    auto ranks = communicators_in_process(2, 5s, shared_memory);
    const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
      std::vector<float> values(3);
      std::array<std::byte, 8> message{};
      if (comm.rank() == Rank{1}) {
        auto ahead = comm.start_all_reduce(std::as_writable_bytes(std::span(values)), Reduction{});
        for (int i = 0; i < 3; ++i)
          comm.send(message, {0});
        ahead.wait();
      } else {
        for (int i = 0; i < 3; ++i)
          comm.receive(message, {1});
        comm.broadcast(message, {0});
      }
    });
    CHECK(failure_in(outcomes[0]).kind() == ErrorKind::usage);
    CHECK(mentions(failure_in(outcomes[0]), "rank 1 is in all_reduce number 0"));
    CHECK(mentions(failure_in(outcomes[0]), "but rank 0 is in broadcast number 0"));
    CHECK(failure_in(outcomes[1]).kind() == ErrorKind::usage);
  }
}

TEST_CASE("a communicator that has failed once refuses further calls and says why") {
  auto ranks = communicators_in_process(2, 10ms);
  const Error first = failure_of([&] { ranks[0].barrier(); });
  const Error second = failure_of([&] { ranks[0].barrier(); });
  CHECK(first.kind() == ErrorKind::transient);
  CHECK(mentions(first, "barrier number 0: rank 1 sent nothing for 10ms"));
  CHECK(second.kind() == ErrorKind::remote);
  CHECK(mentions(second, "broken since barrier number 0"));
}

TEST_CASE("a rank that dies ends the call of the others with its name") {
  auto ranks = communicators_in_process(2, 5s);
  ranks.pop_back();
  std::vector<float> values(1 << 20);
  const Error e = failure_of([&] { ranks[0].all_reduce(std::span(values), ReduceOp::sum); });
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(mentions(e, "rank 1"));
}

TEST_CASE("what a rank has copied for others arrives though the rank has left") {
  auto ranks = communicators_in_process(3, 5s);
  std::vector<std::byte> sent(300'000, std::byte{7});
  ranks[0].broadcast(sent, {0});  // No other rank has to call it first.
  ranks.erase(ranks.begin());
  for (Communicator& other : ranks) {
    std::vector<std::byte> received(sent.size());
    other.broadcast(received, {0});
    CHECK(received == sent);
  }
}

TEST_CASE("a collective that a second thread begins meanwhile is refused, and has not begun") {
  CommunicatorNumber context(nullptr, 0, 0);
  const auto begin = [&] { const CommunicatorNumber::Start start(context, CallKind::barrier); };
  {
    const CommunicatorNumber::Start first(context, CallKind::all_reduce);
    std::optional<Error> e;
    std::jthread([&] { e = failure_of(begin); }).join();
    REQUIRE(e);
    CHECK(e->kind() == ErrorKind::usage);
    CHECK(mentions(*e, "two threads begin calls of one communicator at the same time"));
  }
  CHECK_NOTHROW(begin());
}

TEST_CASE("threads that begin calls against the rule learn of it, and the job goes on") {
  auto ranks = communicators_in_process(1, 5s);
  Communicator& comm = ranks.at(0);
  std::atomic<bool> is_refused = false;
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  const auto make_calls = [&] {
    while (!is_refused && std::chrono::steady_clock::now() < deadline) {
      try {
        comm.barrier();
      } catch (const Error& e) {
        CHECK(e.kind() == ErrorKind::usage);
        is_refused = true;
      }
    }
  };
  {
    const std::jthread other(make_calls);
    make_calls();
  }
  CHECK(is_refused);
  CHECK_NOTHROW(comm.barrier());
}

TEST_CASE("several threads send to different ranks at the same time, beside collective calls") {
  constexpr int kMessages = 2000;
  auto ranks = communicators_in_process(3, 20s);
  std::atomic<int> wrong = 0;
  test::run_ranks(ranks, [&](Communicator& comm) {
    const auto exchange_with = [&](int step) {
      const Rank to{(comm.rank().value + step) % 3};
      const Rank from{(comm.rank().value + 3 - step) % 3};
      for (int i = 0; i < kMessages; ++i) {
        const int mine = comm.rank().value * kMessages + i;
        int theirs = 0;
        Handle sent = comm.start_send(std::as_bytes(std::span(&mine, 1)), to);
        comm.start_receive(std::as_writable_bytes(std::span(&theirs, 1)), from).wait();
        sent.wait();
        if (theirs != from.value * kMessages + i) ++wrong;
      }
    };
    const std::jthread upwards(exchange_with, 1);
    const std::jthread downwards(exchange_with, 2);
    for (int i = 0; i < kMessages; ++i)
      comm.barrier();
  });
  CHECK(wrong == 0);
}

TEST_CASE("a wrong argument is refused before anything is sent") {
  auto ranks = communicators_in_process(2, 10ms);
  std::vector<std::byte> bytes(7);
  const auto float32_sum = Reduction{ElementType::float32, ReduceOp::sum};
  CHECK(failure_of([&] { ranks[0].all_reduce(std::span(bytes), float32_sum); }).kind() ==
        ErrorKind::usage);
  CHECK(failure_of([&] { ranks[0].broadcast(bytes, {2}); }).kind() == ErrorKind::usage);
  CHECK(failure_of([&] { ranks[0].broadcast(bytes, {-1}); }).kind() == ErrorKind::usage);
  CHECK(failure_of([&] { ranks[0].all_gather(bytes, bytes); }).kind() == ErrorKind::usage);
}

TEST_CASE(
    "groups that are gone give their places to others, and what was sent in them stays theirs") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    auto ranks = communicators_in_process(2, 20s, shared_memory);
    const std::size_t wrong = 0;
    std::vector<std::size_t> found{0, 0};
    test::run_ranks(ranks, [&](Communicator& comm) {
      const auto self = static_cast<std::size_t>(comm.rank().value);
      std::vector<Communicator> kept;
      for (int i = 0; i < 300; ++i) {
        auto group = *comm.split(0, 0);
        int value = i;
        const auto bytes = std::as_writable_bytes(std::span(&value, 1));
        if (self == 0) group.send(bytes, {1});
        const bool is_read = i % 3 != 0;  // Else it waits for ever, in a group that is gone.
        if (self == 1 && is_read) {
          value = -1;
          group.receive(bytes, {0});
        }
        if (value != i) ++found[self];
        // Freed at another time than on the other rank.
        if (i % 7 == static_cast<int>(self)) kept.push_back(std::move(group));
        if (kept.size() > 20) kept.erase(kept.begin());
      }
    });
    CHECK(found == std::vector{wrong, wrong});
  }
}

TEST_CASE("more groups at a time than tags can name are refused on all ranks") {
  auto ranks = communicators_in_process(2, 20s);
  const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
    std::vector<Communicator> kept;
    for (std::size_t i = 0; i < kMostContexts - 1; ++i)
      kept.push_back(*comm.split(0, 0));
    CHECK(mentions(failure_of([&] { comm.split(0, 0); }), "4096 communicators"));
    kept.pop_back();
    CHECK(comm.split(0, 0).has_value());
  });
  for (const auto& outcome : outcomes)
    CHECK(!outcome);
}

TEST_CASE("a message without bytes is received by its own receive, begun before it or after") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    auto ranks = communicators_in_process(2, 5s, shared_memory);
    std::vector<int> got;
    const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
      int value = 0;
      const auto bytes = std::as_writable_bytes(std::span(&value, 1));
      for (int round = 0; round < 4; ++round) {
        const bool is_sender_late = round % 2 == 0;
        const bool is_long_way = round < 2;  // Else the messages move within the calls.
        if (comm.rank() == Rank{0}) {
          if (is_sender_late) comm.barrier();
          value = round;
          std::vector<Handle> sends;
          if (is_long_way) {
            sends.push_back(comm.start_send({}, {1}));
            sends.push_back(comm.start_send(bytes, {1}));
          } else {
            comm.send({}, {1});
            comm.send(bytes, {1});
          }
          if (!is_sender_late) comm.barrier();
          for (Handle& send : sends)
            send.wait();
        } else {
          std::vector<Handle> receives;
          if (!is_sender_late) comm.barrier();
          if (is_long_way || is_sender_late) {
            receives.push_back(comm.start_receive({}, {0}));
            receives.push_back(comm.start_receive(bytes, {0}));
          }
          if (is_sender_late) comm.barrier();
          if (receives.empty()) {
            comm.receive({}, {0});
            comm.receive(bytes, {0});
          }
          for (Handle& receive : receives)
            receive.wait();
          got.push_back(value);
        }
      }
    });
    for (const auto& outcome : outcomes)
      CHECK(!outcome);
    CHECK(got == std::vector{0, 1, 2, 3});
  }
}

TEST_CASE("a message with bytes is not received as one without, nor the other way round") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    for (const std::size_t sent : {0, 16}) {
      auto ranks = communicators_in_process(2, 5s, shared_memory);
      const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
        std::vector<std::byte> bytes(comm.rank() == Rank{0} ? sent : 16 - sent);
        if (comm.rank() == Rank{0})
          comm.send(bytes, {1});
        else
          comm.receive(bytes, {0});
        comm.barrier();
      });
      CAPTURE(sent);
      CHECK(mentions(failure_in(outcomes[1]), "it sent " + std::to_string(sent) + " bytes where " +
                                                  std::to_string(16 - sent) + " were expected"));
    }
  }
}

TEST_CASE("a message of another type or count is refused, by name, and changes no memory") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off})
    test::check_messages_are_compared(
        [&] { return communicators_in_process(2, 5s, shared_memory); });
}

TEST_CASE("messages of each type arrive between ranks that agree, in any order of the calls") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    auto ranks = communicators_in_process(2, 5s, shared_memory);
    std::vector<int> got;
    const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
      std::vector<std::int64_t> values(kElementTypes, -1);
      std::vector<Handle> handles;
      for (std::size_t type = 0; type < kElementTypes; ++type) {
        const auto bytes = std::as_writable_bytes(std::span(values).subspan(type, 1));
        if (comm.rank() == Rank{0}) {
          values[type] = static_cast<std::int64_t>(type);
          comm.send(bytes, {1}, static_cast<ElementType>(type));
        } else {
          handles.push_back(comm.start_receive(bytes, {0}, static_cast<ElementType>(type)));
        }
      }
      for (Handle& handle : handles)
        handle.wait();
      if (comm.rank() == Rank{1}) got.assign(values.begin(), values.end());
    });
    for (const auto& outcome : outcomes)
      CHECK(!outcome);
    CHECK(got == std::vector{0, 1, 2, 3, 4, 5, 6, 7});
  }
}

TEST_CASE("a collective without elements on some ranks alone is found, whichever it is") {
  const std::vector<std::function<void(Communicator&, std::span<float>)>> calls{
      [](Communicator& comm, std::span<float> values) { comm.all_reduce(values, ReduceOp::sum); },
      [](Communicator& comm, std::span<float> values) {
        comm.broadcast(std::as_writable_bytes(values), {0});
      },
      [](Communicator& comm, std::span<float> values) {
        std::vector<float> all(values.size() * static_cast<std::size_t>(comm.size()));
        comm.all_gather(std::as_bytes(values), std::as_writable_bytes(std::span(all)));
      },
      [](Communicator& comm, std::span<float> values) {
        std::vector<float> all(values.size() * static_cast<std::size_t>(comm.size()));
        comm.reduce_scatter(std::as_bytes(std::span(all)), std::as_writable_bytes(values),
                            {ElementType::float32, ReduceOp::sum});
      },
      [](Communicator& comm, std::span<float> values) {
        std::vector<float> out(values.size() * static_cast<std::size_t>(comm.size()));
        std::vector<float> in(out.size());
        comm.all_to_all(std::as_bytes(std::span(out)), std::as_writable_bytes(std::span(in)));
      }};
  for (std::size_t call = 0; call < calls.size(); ++call) {
    for (const int size : {2, 3}) {
      for (const bool has_rank_0_none : {true, false}) {
        auto ranks = communicators_in_process(size, 20s);
        const auto begin = std::chrono::steady_clock::now();
        const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
          std::vector<float> values(4);
          if ((comm.rank() == Rank{0}) == has_rank_0_none) values.clear();
          calls[call](comm, values);
          comm.barrier();
        });
        CAPTURE(call);
        CAPTURE(size);
        CAPTURE(has_rank_0_none);
        for (const auto& outcome : outcomes)
          CHECK(failure_in(outcome).kind() == ErrorKind::usage);
        CHECK(std::chrono::steady_clock::now() - begin < 800ms);  // Before any look for deadlocks.
      }
    }
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
