// Messages that connections and a fabric carry together.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include "comm/common/deadline.hpp"
#include "comm/communicator/communicator.hpp"
#include "comm/transports/fabric_transport.hpp"
#include "comm/transports/tcp_transport.hpp"
#include "support/hybrid_pair.hpp"
#include "support/run_ranks.hpp"
#include "support/transport_checks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

TEST_SUITE_BEGIN("comm/hybrid_transport");

TEST_CASE("connections and a fabric carry one message together, each byte once") {
  for (const fabric::Put put : fabric::kPuts)
    for (const int flows : {1, 3}) {
      CAPTURE(name_of(put));
      test::HybridPair pair({.put = put, .needs_local = flows == 3}, flows);
      test::HybridExchange exchange(pair, 3'000'017);
      exchange.check();
      std::uint64_t bytes = 0;
      for (const std::string kind : {"tcp", "fabric"}) {
        const LinkCounters link = pair.a->link(kind);
        CHECK(link.bytes_sent > 0);
        CHECK(link.bytes_received > 0);
        CHECK(link.failures == 0);
        CHECK(link.connections == (kind == "tcp" ? static_cast<std::uint64_t>(flows) : 1));
        bytes += link.bytes_sent;
      }
      CHECK(bytes == 4 * exchange.values.size());
    }
}

TEST_CASE("short messages go by the fabric at first, and by connections if it is slower") {
  constexpr int kMessages = 20;
  test::HybridPair pair;
  const Deadline unused(120ms);  // A network that was not used for a while is tried.
  while (!unused.passed())
    pair.settle();
  const std::vector<std::byte> bytes(100, std::byte{7});
  for (int i = 1; i <= kMessages; ++i) {
    std::vector<std::byte> got(100);
    pair.a->send(static_cast<std::uint64_t>(i), bytes);
    pair.b->receive(static_cast<std::uint64_t>(i), {.memory = got});
    CHECK(pair.settle_until([&] { return pair.a->reports.sent_messages == i; }));
    CHECK(got == bytes);
  }
  CHECK(pair.a->link("fabric").frames_sent > 0);  // On a busy machine it may be slow after that.
  CHECK(pair.a->link("fabric").frames_sent + pair.a->link("tcp").frames_sent == kMessages);
  const auto is_quiet = [&] {
    pair.a->transport->may_sleep();  // It asks how much has come.
    pair.b->transport->may_sleep();
    return pair.a->transport->is_quiet();
  };
  CHECK(pair.settle_until(is_quiet));
}

TEST_CASE("what a fabric had when it failed goes by connections, each byte once") {
  for (const fabric::Put put : fabric::kPuts)
    for (const int turns : {0, 1, 3, 8, 21}) {
      CAPTURE(name_of(put));
      CAPTURE(turns);
      test::HybridPair pair({.put = put, .needs_local = turns % 2 == 0});
      test::HybridExchange exchange(pair, 1'000'003);
      exchange.progress(turns);
      pair.wire->is_broken = true;
      exchange.check();
    }
}

TEST_CASE("a fabric that fails is counted and reported once, and messages go on") {
  test::HybridPair pair;
  pair.wire->is_broken = true;
  test::HybridExchange exchange(pair, 1'000'003);
  exchange.check();
  CHECK(pair.settle_until([&] { return pair.a->link("fabric").failures == 1; }));
  CHECK(pair.a->link("fabric").connections == 0);
  CHECK(pair.a->link("tcp").connections == 1);
  REQUIRE(pair.a->reports.warnings.size() == 1);
  CHECK(pair.a->reports.warnings.front() ==
        "the fabric wire test has failed on the way to rank 1 (the wire is broken): the others "
        "carry its share");
}

TEST_CASE("a fabric that falls silent is left after a second") {
  for (const fabric::Put put : {fabric::Put::none, fabric::Put::with_data}) {
    test::HybridPair pair({.put = put});
    test::HybridExchange exchange(pair, 1'000'003);
    exchange.progress(3);
    pair.wire->is_silent = true;
    const auto begin = std::chrono::steady_clock::now();
    exchange.check();
    CHECK(std::chrono::steady_clock::now() - begin < 10s);
    CHECK(pair.a->link("fabric").connections == 0);
    CHECK(pair.settle_until([&] { return !pair.a->reports.warnings.empty(); }));
    const std::string& warning = pair.a->reports.warnings.front();
    const bool has_reason = warning.find("(silent for 1 s)") != std::string::npos ||
                            warning.find("(rank 1 gave it up)") != std::string::npos;
    CHECK_MESSAGE(has_reason, warning);
  }
}

TEST_CASE("a fabric that comes back is used again, each byte once") {
  for (const fabric::Put put : fabric::kPuts) {
    CAPTURE(name_of(put));
    test::HybridPair pair({.put = put, .needs_local = put == fabric::Put::with_data});
    for (const std::uint64_t times : {1U, 2U, 3U}) {
      pair.fail_once();
      pair.wire->is_broken = false;
      pair.check_use_again(times);
    }
  }
}

TEST_CASE("a fabric that was silent and answers again is used again") {
  test::HybridPair pair;
  test::HybridExchange exchange(pair, 1'000'003);
  exchange.progress(3);
  pair.wire->is_silent = true;
  exchange.check();
  pair.wire->is_silent = false;
  pair.check_use_again();
}

TEST_CASE(
    "a fabric that stays broken is tried at growing intervals, and its endpoints are closed") {
  test::HybridPair pair;
  pair.fail_once();
  const int stops = pair.wire->stops;
  const Deadline deadline(2s);
  while (!deadline.passed())
    pair.settle();
  const int tries = pair.a->source->requests;
  CHECK(tries >= 4);
  CHECK(tries <= 15);  // 2 s at 160 ms, after 20, 40 and 80.
  CHECK(pair.wire->stops - stops >= 2 * (tries - 1));
  CHECK(pair.a->reports.warnings.size() == 1);
  test::HybridExchange(pair, 100'003).check();
  pair.wire->is_broken = false;
  pair.check_use_again();
}

TEST_CASE("a rank that cannot open the fabric again refuses, until it can") {
  test::HybridPair pair;
  pair.b->source->refuses = true;
  pair.fail_once();
  pair.wire->is_broken = false;
  CHECK(pair.settle_until([&] { return pair.b->source->requests >= 3; }));
  CHECK(pair.a->source->requests >= 1);
  CHECK(pair.a->link("fabric").connections == 0);
  pair.b->source->refuses = false;
  pair.check_use_again();
}

TEST_CASE("memory that was allocated before is prepared for the fabric that comes back") {
  test::HybridPair pair({.put = fabric::Put::with_data, .needs_local = true});
  std::vector<std::byte> memory(1 << 20);
  pair.a->transport->allocated(memory);
  pair.fail_once();
  pair.wire->is_broken = false;
  pair.check_use_again();
  const int registrations = pair.wire->registrations;
  std::vector<std::byte> got(memory.size());
  std::ranges::fill(memory, std::byte{5});
  const auto tag = static_cast<std::uint64_t>(pair.a->reports.sent_messages + 1);
  const int sent = pair.a->reports.sent_messages;
  pair.a->send(tag, memory);
  pair.b->receive(tag, {.memory = got});
  CHECK(pair.settle_until([&] { return pair.a->reports.sent_messages == sent + 1; }));
  CHECK(got == memory);
  CHECK(pair.wire->registrations - registrations <= 2);  // Further blocks of the receiver.
  pair.a->transport->freed(memory.data());
}

/// Two ranks between which two fabrics carry the messages, and connections what is left.
struct TwoFabrics {
  explicit TwoFabrics(fabric::Put put) : pair({.put = put}) {
    second = std::make_shared<test::FabricWire>(test::WireTraits{.put = put, .device = "second"});
    std::vector<std::unique_ptr<FabricTransport>> fabrics;
    for (int r = 0; r < 2; ++r)
      fabrics.push_back(std::make_unique<FabricTransport>(Rank{r}, 2, second->endpoint()));
    REQUIRE(fabrics[0]->connect({1}, fabrics[1]->card()));
    REQUIRE(fabrics[1]->connect({0}, fabrics[0]->card()));
    pair.a->carry_by(std::move(fabrics[0]), std::make_unique<test::WireSource>(second, Rank{0}, 2),
                     7);
    pair.b->carry_by(std::move(fabrics[1]), std::make_unique<test::WireSource>(second, Rank{1}, 2),
                     7);
    pair.a->transport->spare_connections();
    pair.b->transport->spare_connections();
    pair.settle();
  }

  std::uint64_t sent_by(const std::string& link) { return pair.a->link(link).bytes_sent; }

  test::HybridPair pair;
  std::shared_ptr<test::FabricWire> second;
};

TEST_CASE("several devices of a fabric carry one message, and connections nothing of it") {
  for (const fabric::Put put : fabric::kPuts) {
    CAPTURE(name_of(put));
    TwoFabrics two(put);
    test::HybridExchange exchange(two.pair, 3'000'017);
    exchange.check();
    CHECK(two.sent_by("tcp") == 0);
    CHECK(two.sent_by("fabric wire test") > 0);
    CHECK(two.sent_by("fabric wire second") > 0);
    CHECK(two.sent_by("fabric wire test") + two.sent_by("fabric wire second") ==
          4 * exchange.values.size());
  }
}

TEST_CASE("a device that fails costs its share, and is used again once it works") {
  TwoFabrics two(fabric::Put::with_data);
  test::HybridExchange exchange(two.pair, 1'000'003);
  exchange.progress(5);
  two.second->is_broken = true;
  exchange.check();
  CHECK(two.sent_by("tcp") == 0);
  CHECK(two.pair.a->link("fabric wire test").connections == 1);
  CHECK(two.pair.a->link("fabric wire second").connections == 0);
  two.second->is_broken = false;
  CHECK(two.pair.settle_until([&] {
    return two.pair.a->link("fabric wire second").connections == 1 &&
           two.pair.b->link("fabric wire second").connections == 1;
  }));
  const std::uint64_t before = two.sent_by("fabric wire second");
  test::HybridExchange(two.pair, 1'000'003).check();
  CHECK(two.sent_by("fabric wire second") > before);
  CHECK(two.sent_by("tcp") == 0);
}

TEST_CASE("connections carry all once every device has failed") {
  TwoFabrics two(fabric::Put::none);
  test::HybridExchange exchange(two.pair, 1'000'003);
  exchange.progress(3);
  two.pair.wire->is_broken = true;
  two.second->is_broken = true;
  exchange.check();
  CHECK(two.sent_by("tcp") > 0);
}

std::vector<Communicator> hybrid_communicators(const std::shared_ptr<test::FabricWire>& wire,
                                               int size, int flows = 2) {
  auto connections = test::sockets_in_process(size, 20s, flows);
  test::run_ranks(connections, [&](Connections& rank) {
    introduce(rank, {.shared_memory = SharedMemory::off, .flows = flows}, Deadline(20s));
  });
  std::vector<std::unique_ptr<FabricTransport>> fabrics;
  for (const Connections& rank : connections)
    fabrics.push_back(std::make_unique<FabricTransport>(rank.rank, size, wire->endpoint()));
  for (std::size_t a = 0; a < fabrics.size(); ++a)
    for (std::size_t b = 0; b < fabrics.size(); ++b)
      if (a != b) REQUIRE(fabrics[a]->connect({static_cast<int>(b)}, fabrics[b]->card()));
  std::vector<Communicator> ranks;
  for (std::size_t r = 0; r < connections.size(); ++r) {
    connections[r].fabric = std::move(fabrics[r]);
    connections[r].is_hybrid = true;
    connections[r].fabric_source =
        std::make_unique<test::WireSource>(wire, connections[r].rank, size);
    ranks.emplace_back(std::move(connections[r]));
  }
  return ranks;
}

TEST_CASE("collectives over both have the sums of all") {
  for (const fabric::Put put : fabric::kPuts)
    for (const int size : {2, 3}) {
      CAPTURE(name_of(put));
      auto ranks = hybrid_communicators(
          std::make_shared<test::FabricWire>(test::WireTraits{.put = put}), size);
      for (const std::size_t length : {1U, 4083U, 70'001U, 1'000'003U}) {
        test::check_sums(ranks, length);
        test::check_copies(ranks, length);
      }
      test::check_gradients(ranks);
    }
}

TEST_CASE("collectives go on with right sums when the fabric fails in the middle of them") {
  for (const bool is_silent : {false, true}) {
    const auto wire = std::make_shared<test::FabricWire>(test::WireTraits{});
    auto ranks = hybrid_communicators(wire, 3);
    std::vector<int> right(ranks.size());
    constexpr int kCalls = 12;
    test::run_ranks(ranks, [&](Communicator& comm) {
      for (int call = 0; call < kCalls; ++call) {
        auto values = test::numbers(comm.rank(), 500'009);
        if (call == 4 && comm.rank() == Rank{0})
          (is_silent ? wire->is_silent : wire->is_broken) = true;
        comm.all_reduce(std::span(values), ReduceOp::sum);
        if (values == test::sums(3, values.size()))
          ++right[static_cast<std::size_t>(comm.rank().value)];
      }
    });
    CHECK(right == std::vector(ranks.size(), kCalls));
  }
}

TEST_CASE("collectives have right sums while the fabric fails and comes back") {
  const auto wire = std::make_shared<test::FabricWire>(test::WireTraits{});
  auto ranks = hybrid_communicators(wire, 3);
  std::vector<int> wrong(ranks.size());
  const Deadline deadline(30s);
  test::run_ranks(ranks, [&](Communicator& comm) {
    for (int call = 0;; ++call) {
      if (comm.rank() == Rank{0} && call == 4) wire->is_broken = true;
      if (comm.rank() == Rank{0} && call == 20) wire->is_broken = false;
      auto values = test::numbers(comm.rank(), 100'003);
      comm.all_reduce(std::span(values), ReduceOp::sum);
      if (values != test::sums(3, values.size()))
        ++wrong[static_cast<std::size_t>(comm.rank().value)];
      const LinkCounters fabric = comm.links().back();
      const bool is_back = fabric.reconnects >= 2 && fabric.connections == 2;
      std::vector<float> waiting{is_back || deadline.passed() ? 0.0F : 1.0F};
      comm.all_reduce(std::span(waiting), ReduceOp::sum);
      if (waiting.front() == 0.0F) break;
    }
  });
  CHECK(wrong == std::vector(ranks.size(), 0));
  for (const Communicator& comm : ranks) {
    CHECK(comm.links().back().reconnects == 2);
    CHECK(comm.links().back().failures == 2);
    CHECK(comm.links().back().connections == 2);
  }
}

TEST_CASE("what a rank has sent over both may be asked for after it has gone") {
  test::check_message_outlives_sender(
      test::able_to_leave(hybrid_communicators(std::make_shared<test::FabricWire>(), 2)));
}

TEST_CASE("a rank that goes while others wait for it over both is named by them") {
  test::check_leaver_is_named(
      test::able_to_leave(hybrid_communicators(std::make_shared<test::FabricWire>(), 3)));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
