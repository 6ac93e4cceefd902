// The transport by the fabric, over a stand-in for libfabric in which ranks are threads.
#include "comm/transports/fabric_transport.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "support/fabric_ranks.hpp"
#include "support/transport_checks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::all_wires;
using test::communicators_by;
using test::connect_all;
using test::FabricPair;
using test::FabricWire;
using test::numbers;
using test::run_ranks;
using test::sums;
using test::TransportReports;
using test::WireTraits;

/// About what goes in a frame, and about the pieces of what does not.
constexpr std::size_t kLengths[] = {0, 1, 513, 4081, 4083, 70'001, 1'000'003};

TEST_SUITE_BEGIN("comm/fabric_transport");

TEST_CASE("transports that meet reach each other, and exchange messages as before") {
  constexpr int kRanks = 3;
  auto wire = std::make_shared<FabricWire>(WireTraits{});
  std::vector<std::unique_ptr<FabricTransport>> transports;
  for (int r = 0; r < kRanks; ++r)
    transports.push_back(std::make_unique<FabricTransport>(Rank{r}, kRanks, wire->endpoint()));
  connect_all(transports);
  run_ranks(transports, [](std::unique_ptr<FabricTransport>& rank) {
    CHECK(rank->meet(Deadline(20s)).empty());
  });
  std::vector<TransportReports> reports(2);
  transports[0]->open(reports[0]);
  transports[1]->open(reports[1]);
  std::vector<std::byte> out(70'001, std::byte{5});
  std::vector<std::byte> in(out.size());
  Outgoing sent{.peer = {1}, .tag = {1}, .bytes = out};
  Incoming received{.peer = {0}, .tag = {1}, .sink = {.memory = in}};
  transports[0]->send(sent);
  transports[1]->receive(received);
  const Deadline deadline(20s);
  while (reports[1].received_messages == 0 && !deadline.passed())
    for (std::size_t r = 0; r < 2; ++r)
      transports[r]->progress();
  CHECK(in == out);
}

TEST_CASE("a rank that does not answer by the fabric is named, and not reached by it") {
  auto wire = std::make_shared<FabricWire>(WireTraits{});
  std::vector<std::unique_ptr<FabricTransport>> transports;
  for (int r = 0; r < 3; ++r)
    transports.push_back(std::make_unique<FabricTransport>(Rank{r}, 3, wire->endpoint()));
  connect_all(transports);
  std::vector<std::unique_ptr<FabricTransport>> present;
  present.push_back(std::move(transports[0]));
  present.push_back(std::move(transports[2]));
  run_ranks(present, [](std::unique_ptr<FabricTransport>& rank) {
    const auto failures = rank->meet(Deadline(300ms));
    REQUIRE(failures.size() == 1);
    CHECK(failures.begin()->first == Rank{1});
    CHECK(failures.begin()->second.starts_with("it does not answer by "));
    CHECK_FALSE(rank->reaches({1}));
  });
  CHECK(present[0]->reaches({2}));
  CHECK(present[1]->reaches({0}));
}

TEST_CASE("an all-reduce by the fabric has the sums of all, however bytes are put") {
  for (const WireTraits& traits : all_wires()) {
    for (const int size : {2, 3, 4}) {
      auto ranks = communicators_by(std::make_shared<FabricWire>(traits), size);
      CAPTURE(name_of(traits.put));
      for (const std::size_t length : kLengths)
        test::check_sums(ranks, length);
    }
  }
}

TEST_CASE("copies by the fabric arrive whole, whichever side asks first") {
  for (const WireTraits& traits : all_wires()) {
    auto ranks = communicators_by(std::make_shared<FabricWire>(traits), 4);
    CAPTURE(name_of(traits.put));
    for (const std::size_t length : kLengths)
      test::check_copies(ranks, length);
  }
}

TEST_CASE("a message by the fabric of another type or count is refused by name") {
  for (const fabric::Put put : fabric::kPuts) {
    CAPTURE(name_of(put));
    test::check_messages_are_compared(
        [&] { return communicators_by(std::make_shared<FabricWire>(WireTraits{.put = put}), 2); });
  }
}

TEST_CASE("pieces are as short as the fabric needs them") {
  auto ranks = communicators_by(std::make_shared<FabricWire>(WireTraits{.most_bytes = 32'768}), 2);
  std::vector<float> result;
  run_ranks(ranks, [&](Communicator& comm) {
    auto values = numbers(comm.rank(), 100'001);
    comm.all_reduce(std::span(values), ReduceOp::sum);
    if (comm.rank() == Rank{0}) result = values;
  });
  CHECK(result == sums(2, 100'001));
}

TEST_CASE("gradients are exchanged by the fabric") {
  auto ranks =
      communicators_by(std::make_shared<FabricWire>(WireTraits{.put = fabric::Put::then_send}), 3);
  test::check_gradients(ranks);
}

TEST_CASE("a rank that sends far ahead waits, and its messages arrive once they are asked for") {
  constexpr std::size_t kMessages = 2000;
  FabricPair pair;
  const std::vector<std::byte> bytes(4096, std::byte{9});
  std::vector<Outgoing> sent(kMessages);
  for (std::size_t i = 0; i < kMessages; ++i) {
    sent[i] = {.peer = {1}, .tag = {i}, .bytes = bytes};
    pair.ranks[0]->send(sent[i]);
  }
  pair.progress(200);
  // Nothing is awaited, and so all that rank 1 keeps is bounded: not by this number, but by 256
  // MiB.
  std::vector<std::byte> into(bytes.size());
  std::vector<Incoming> wanted(kMessages);
  for (std::size_t i = 0; i < kMessages; ++i) {
    wanted[i] = {.peer = {0}, .tag = {i}, .sink = {.memory = into}};
    pair.ranks[1]->receive(wanted[i]);
    pair.progress(2);
  }
  CHECK(pair.reports[0].sent_messages == static_cast<int>(kMessages));
  CHECK(pair.reports[1].received_messages == static_cast<int>(kMessages));
  CHECK(into == bytes);
}

TEST_CASE("messages of a higher priority overtake those that wait") {
  FabricPair pair;
  pair.wire->is_full = true;
  const std::byte low{1};
  const std::byte high{2};
  Outgoing first{.peer = {1}, .tag = {1}, .bytes = {&low, 1}};
  Outgoing second{.peer = {1}, .tag = {2}, .bytes = {&high, 1}, .priority = 5};
  pair.ranks[0]->send(first);
  pair.ranks[0]->send(second);
  pair.wire->is_full = false;
  std::byte got{};
  Incoming wanted{.peer = {0}, .tag = {2}, .sink = {.memory = {&got, 1}}};
  pair.ranks[1]->receive(wanted);
  pair.ranks[0]->progress();
  pair.ranks[1]->progress();
  CHECK(got == high);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
