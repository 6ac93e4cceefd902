// Faults of the fabric, of ranks and of queues, over a stand-in for libfabric.
#include "comm/transports/fabric_transport.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "support/fabric_ranks.hpp"
#include "support/failure.hpp"
#include "support/transport_checks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::able_to_leave;
using test::communicators_by;
using test::connect_all;
using test::FabricPair;
using test::FabricWire;
using test::failure_in;
using test::failure_of;
using test::mentions;
using test::numbers;
using test::outcomes_of_ranks;
using test::run_ranks;
using test::sums;
using test::TransportReports;
using test::WireTraits;

TEST_SUITE_BEGIN("comm/fabric_faults");

TEST_CASE("a queue that is full is tried again, until there is room") {
  for (const fabric::Put put : fabric::kPuts) {
    const auto wire = std::make_shared<FabricWire>(WireTraits{.put = put});
    auto ranks = communicators_by(wire, 2);
    wire->is_full = true;
    std::vector<std::vector<float>> results(2);
    std::jthread emptied([&] {
      std::this_thread::sleep_for(200ms);
      wire->is_full = false;
    });
    run_ranks(ranks, [&](Communicator& comm) {
      auto values = numbers(comm.rank(), 70'001);
      comm.all_reduce(std::span(values), ReduceOp::sum);
      results[static_cast<std::size_t>(comm.rank().value)] = values;
    });
    CHECK(results[0] == sums(2, 70'001));
    CHECK(results[1] == sums(2, 70'001));
  }
}

TEST_CASE("a queue that is full for ten seconds costs these and nothing else") {
  const auto fill = [](fabric::Put put) {
    const auto wire = std::make_shared<FabricWire>(WireTraits{.put = put});
    auto ranks = communicators_by(wire, 2, 600s);
    wire->is_full = true;
    std::jthread emptied([&] {
      std::this_thread::sleep_for(10s);
      wire->is_full = false;
    });
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::vector<float>> results(2);
    run_ranks(ranks, [&](Communicator& comm) {
      auto values = numbers(comm.rank(), 70'001);
      comm.all_reduce(std::span(values), ReduceOp::sum);
      results[static_cast<std::size_t>(comm.rank().value)] = values;
    });
    CHECK(std::chrono::steady_clock::now() - begin > 9s);
    CHECK(std::chrono::steady_clock::now() - begin < 20s);
    CHECK(results[0] == sums(2, 70'001));
    CHECK(results[1] == sums(2, 70'001));
  };
  std::vector<std::jthread> jobs;
  for (const fabric::Put put : fabric::kPuts)
    jobs.emplace_back(fill, put);
}

TEST_CASE("a queue that stays full ends the call at the deadline, with a rank's name") {
  const auto wire = std::make_shared<FabricWire>(WireTraits{.put = fabric::Put::with_data});
  auto ranks = communicators_by(wire, 2, 300ms);
  wire->is_full = true;
  const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
    std::vector<float> values(70'001);
    comm.all_reduce(std::span(values), ReduceOp::sum);
  });
  CHECK(mentions(failure_in(outcomes[0]), "rank "));
  CHECK(mentions(failure_in(outcomes[0]), " nothing for 300ms"));
}

TEST_CASE("a queue of completions that has overrun ends every call, with the reason") {
  for (const fabric::Put put : fabric::kPuts) {
    auto ranks = communicators_by(
        std::make_shared<FabricWire>(WireTraits{.put = put, .queue_length = 1}), 2);
    const auto begin = std::chrono::steady_clock::now();
    const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
      std::vector<float> values(700'001);
      for (int calls = 0; calls < 1000; ++calls)
        comm.all_reduce(std::span(values), ReduceOp::sum);
    });
    for (const auto& outcome : outcomes)
      CHECK(mentions(failure_in(outcome), "the queue has overrun"));
    CHECK(std::chrono::steady_clock::now() - begin < 10s);
  }
}

TEST_CASE("messages that the fabric has lost end the calls within a minute, with the reason") {
  const auto lose_some = [](fabric::Put put) {
    const auto wire = std::make_shared<FabricWire>(WireTraits{.put = put});
    auto ranks = communicators_by(wire, 2, 600s);
    const auto begin = std::chrono::steady_clock::now();
    const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
      std::vector<float> values(70'001);
      for (int calls = 0; calls < 100; ++calls) {
        if (calls == 50 && comm.rank() == Rank{0}) wire->lost = 3;
        comm.all_reduce(std::span(values), ReduceOp::sum);
      }
    });
    for (const auto& outcome : outcomes)
      CHECK(mentions(failure_in(outcome), " got lost in the fabric"));
    CHECK(std::chrono::steady_clock::now() - begin < 60s);
  };
  std::vector<std::jthread> jobs;  // Each waits for 20 s.
  for (const fabric::Put put : fabric::kPuts)
    jobs.emplace_back(lose_some, put);
}

TEST_CASE("a fabric that carries nothing any more ends the calls of ranks that live") {
  const auto wire = std::make_shared<FabricWire>(WireTraits{.put = fabric::Put::with_data});
  auto ranks = communicators_by(wire, 2, 600s);
  const auto begin = std::chrono::steady_clock::now();
  const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> values(70'001);
    for (int calls = 0; calls < 100; ++calls) {
      if (calls == 50 && comm.rank() == Rank{0}) wire->lost = std::numeric_limits<int>::max();
      comm.all_reduce(std::span(values), ReduceOp::sum);
    }
  });
  for (const auto& outcome : outcomes)
    CHECK(mentions(failure_in(outcome), "the fabric between it and rank "));
  CHECK(std::chrono::steady_clock::now() - begin < 90s);
}

TEST_CASE("a fabric that carries nothing any more ends the calls by the end of a short timeout") {
  constexpr auto kTimeout = 8s;
  const auto wire = std::make_shared<FabricWire>(WireTraits{.put = fabric::Put::with_data});
  auto ranks = communicators_by(wire, 2, kTimeout);
  run_ranks(ranks, [](Communicator& comm) { comm.barrier(); });
  wire->lost = std::numeric_limits<int>::max();
  const auto begin = std::chrono::steady_clock::now();
  const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) { comm.barrier(); });
  CHECK(std::chrono::steady_clock::now() - begin < kTimeout + kTimeout / 4);
  for (const auto& outcome : outcomes) {
    const Error error = failure_in(outcome);
    CHECK(mentions(error, "the fabric between it and rank "));
    CHECK(mentions(error, "though it answers by TCP (wire on test)"));
  }
}

TEST_CASE("a connection that breaks while only copies are sent ends the calls soon") {
  const auto wire = std::make_shared<FabricWire>(WireTraits{});
  auto ranks = communicators_by(wire, 2, 600s);
  const auto begin = std::chrono::steady_clock::now();
  const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> values(1);
    for (int calls = 0; calls < 100; ++calls) {
      if (calls == 50 && comm.rank() == Rank{0}) wire->is_cut = true;
      comm.all_reduce(std::span(values), ReduceOp::sum);
    }
  });
  for (const auto& outcome : outcomes)
    CHECK(mentions(failure_in(outcome), "the fabric (wire on test): error 5"));
  CHECK(std::chrono::steady_clock::now() - begin < 20s);
}

TEST_CASE("a rank that only waits notices that its connection is broken") {
  const auto wire = std::make_shared<FabricWire>(WireTraits{});
  auto ranks = communicators_by(wire, 2, 600s);
  run_ranks(ranks, [](Communicator& comm) { comm.barrier(); });
  wire->is_cut = true;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::byte> in(10);
  const Error error = failure_of([&] { ranks[1].receive(in, Rank{0}); });
  CHECK(mentions(error, "rank 0"));
  CHECK(mentions(error, "error 5"));
  CHECK(std::chrono::steady_clock::now() - begin < 20s);
}

TEST_CASE("a rank that leaves awaits the last frame of one that leaves soon after") {
  constexpr std::size_t kPieces = 70'001;  // Both ranks send frames for it.
  FabricPair pair;
  REQUIRE(pair.brings(1, kPieces));
  const auto begin = std::chrono::steady_clock::now();
  std::jthread first([&] { pair.ranks[1].reset(); });
  std::this_thread::sleep_for(30ms);
  pair.ranks[0].reset();
  first.join();
  CHECK(pair.wire->too_late == 0);
  CHECK(std::chrono::steady_clock::now() - begin < 2s);
}

TEST_CASE("a rank that leaves does not wait for long for one that stays") {
  FabricPair pair;
  REQUIRE(pair.brings(1, 70'001));
  const auto begin = std::chrono::steady_clock::now();
  pair.ranks[1].reset();
  CHECK(std::chrono::steady_clock::now() - begin < 2s);
}

TEST_CASE("a rank that takes nothing for long has lost nothing") {
  const auto wire = std::make_shared<FabricWire>(WireTraits{});
  auto ranks = communicators_by(wire, 2, 600s);
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> values(70'001);
    if (comm.rank() == Rank{1}) std::this_thread::sleep_for(22s);
    comm.all_reduce(std::span(values), ReduceOp::sum);
  });
}

TEST_CASE("a rank that does not look for long gets no more completions than a queue can keep") {
  constexpr std::size_t kQueue = 8192;  // As the plugin opens it.
  constexpr std::size_t kMessages = 300;
  constexpr int kRanks = 4;
  for (const fabric::Put put : fabric::kPuts) {
    const auto wire = std::make_shared<FabricWire>(WireTraits{.put = put, .queue_length = kQueue});
    std::vector<std::unique_ptr<FabricTransport>> ranks;
    for (int r = 0; r < kRanks; ++r)
      ranks.push_back(std::make_unique<FabricTransport>(Rank{r}, kRanks, wire->endpoint()));
    connect_all(ranks);
    std::vector<TransportReports> reports(kRanks);
    for (std::size_t r = 0; r < kRanks; ++r)
      ranks[r]->open(reports[r]);
    // Every other rank sends messages of each length to rank 0, which awaits them all.
    const std::vector<std::byte> bytes(70'001, std::byte{3});
    std::vector<std::byte> into(bytes.size());
    std::deque<Outgoing> sent;
    std::deque<Incoming> wanted;
    for (int from = 1; from < kRanks; ++from)
      for (std::size_t i = 0; i < kMessages; ++i) {
        const std::size_t length = i % 3 == 0 ? bytes.size() : i % 4097;
        wanted.push_back(
            {.peer = {from}, .tag = {i}, .sink = {.memory = std::span(into).first(length)}});
        ranks[0]->receive(wanted.back());
        sent.push_back({.peer = {0}, .tag = {i}, .bytes = std::span(bytes).first(length)});
        ranks[static_cast<std::size_t>(from)]->send(sent.back());
      }
    constexpr int kTurns = 200;
    for (int turn = 0; turn < kTurns; ++turn)
      for (std::size_t r = 1; r < kRanks; ++r)
        ranks[r]->progress();
    CHECK(reports[0].received_messages < static_cast<int>(wanted.size()));
    for (int turn = 0;
         turn < 100 * kTurns && reports[0].received_messages < static_cast<int>(wanted.size());
         ++turn)
      for (const auto& rank : ranks)
        rank->progress();
    CHECK(reports[0].received_messages == static_cast<int>(wanted.size()));
    CHECK(reports[0].losses == 0);
    CHECK(wire->longest_queue > 10);
  }
}

TEST_CASE("ranks that wait for each other by the fabric get an error that says so") {
  for (const fabric::Put put : fabric::kPuts) {
    auto ranks = communicators_by(std::make_shared<FabricWire>(WireTraits{.put = put}), 2, 600s);
    const auto begin = std::chrono::steady_clock::now();
    const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
      std::vector<float> values(70'001);
      comm.all_reduce(std::span(values), ReduceOp::sum);
      auto group = *comm.split(0, 0);
      if (comm.rank() == Rank{1})
        group.barrier();
      else
        comm.all_reduce(std::span(values), ReduceOp::sum);
    });
    CHECK(std::chrono::steady_clock::now() - begin < 100s);
    for (const auto& outcome : outcomes) {
      const Error failure = failure_in(outcome);
      INFO("failure: ", std::string(failure.what()));
      CHECK(mentions(failure, "none can go on"));
    }
  }
}

TEST_CASE("a rank that gives up tells why before its endpoint stops") {
  for (const fabric::Put put : fabric::kPuts) {
    const auto wire = std::make_shared<FabricWire>(WireTraits{.put = put});
    wire->pause_of_stop = 200ms;
    auto ranks = communicators_by(wire, 2);
    const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
      std::vector<float> values(70'001);
      comm.all_reduce(std::span(values), ReduceOp::sum);
      if (comm.rank() == Rank{0}) return comm.give_up(Error(ErrorKind::remote, "the disk is full"));
      for (const auto end = std::chrono::steady_clock::now() + 10s;
           std::chrono::steady_clock::now() < end;)
        comm.all_reduce(std::span(values), ReduceOp::sum);
    });
    const Error failure = failure_in(outcomes[1]);
    INFO("failure: ", std::string(failure.what()));
    CHECK(mentions(failure, "the disk is full"));
  }
}

TEST_CASE("what a rank has sent by the fabric may be asked for after it has gone") {
  test::check_message_outlives_sender(
      able_to_leave(communicators_by(std::make_shared<FabricWire>(), 2, 5s)));
}

TEST_CASE("a rank that goes while others wait for it by the fabric is named by them") {
  test::check_leaver_is_named(
      able_to_leave(communicators_by(std::make_shared<FabricWire>(), 3, 5s)));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
