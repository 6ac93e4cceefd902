// The end of a rank, of its connections and of its fabric, where both carry messages.
#include <doctest/doctest.h>
#include <linux/filter.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>
#include "comm/common/deadline.hpp"
#include "comm/transports/fabric_transport.hpp"
#include "comm/transports/tcp_transport.hpp"
#include "support/hybrid_pair.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

TEST_SUITE_BEGIN("comm/hybrid_peers");

TEST_CASE("a peer that is busy for longer is not taken for a silent fabric") {
  test::HybridPair pair;
  const std::vector<std::byte> bytes(100'000, std::byte{7});
  std::vector<std::byte> got(bytes.size());
  pair.a->send(1, bytes);
  const Deadline busy(1500ms);
  while (!busy.passed())
    pair.a->transport->progress();
  pair.b->receive(1, {.memory = got});
  CHECK(pair.settle_until([&] { return pair.a->reports.sent_messages == 1; }));
  CHECK(got == bytes);
  CHECK(pair.a->link("fabric").connections == 1);
  CHECK(pair.a->transport->retired_flows() == 0);
}

TEST_CASE("the end of the last connection is that of the peer, even if the fabric goes on") {
  test::HybridPair pair({}, 2);
  ::shutdown(pair.a->sockets_of_peer[0], SHUT_RDWR);
  test::HybridExchange exchange(pair, 1'000'003);
  exchange.check();
  ::shutdown(pair.a->sockets_of_peer[1], SHUT_RDWR);
  pair.settle();
  CHECK(pair.a->reports.loss() == "Connection reset by peer");
  CHECK(pair.b->reports.loss() == "Connection reset by peer");
}

/// Lets nothing of what comes by these connections arrive: their network is down.
void drop_all(const std::vector<int>& sockets) {
  sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{.len = 1, .filter = &nothing};
  for (const int socket : sockets)
    REQUIRE(::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0);
}

void drop_nothing(const std::vector<int>& sockets) {
  const int unused = 0;
  for (const int socket : sockets)
    REQUIRE(::setsockopt(socket, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused)) == 0);
}

/// A fabric and connections whose network has gone.
struct WithoutConnections : test::HybridPair {
  explicit WithoutConnections(int flows) : test::HybridPair({}, flows, test::tcp_pair) {
    drop_all(a->sockets_of_peer);
    drop_all(b->sockets_of_peer);
  }
};

TEST_CASE("a fabric carries messages alone once the network of all connections has gone") {
  for (const int flows : {1, 3})
    for (const std::size_t count : {10U, 3'000'017U}) {
      CAPTURE(flows);
      CAPTURE(count);
      WithoutConnections pair(flows);
      test::HybridExchange(pair, count).check();
      test::HybridExchange(pair, count).check();
      test::HybridExchange(pair, 100'003).check();
      const auto failures = [&] { return pair.a->link("tcp").failures; };
      CHECK(pair.settle_until([&] { return failures() == static_cast<std::uint64_t>(flows); }));
      CHECK(pair.a->link("tcp").connections == 0);
      CHECK(pair.a->link("fabric").connections == 1);
      REQUIRE(pair.a->reports.warnings.size() == 1);
      // The rank that notices it first informs the other.
      const std::string& warning = pair.a->reports.warnings.front();
      CHECK(warning.starts_with("the network of 127.0.0.1 has failed on the way to rank 1 ("));
      const bool has_reason =
          warning.ends_with("(silent for 0.25 s): the others carry its share") ||
          warning.ends_with("(rank 1 gave it up): the others carry its share");
      CHECK_MESSAGE(has_reason, warning);
    }
}

/// Resets these connections, as a firewall between the two ranks does.
void reset_all(const std::vector<int>& sockets) {
  const sockaddr nowhere{.sa_family = AF_UNSPEC, .sa_data = {}};
  for (const int socket : sockets)
    REQUIRE(::connect(socket, &nowhere, sizeof(nowhere)) == 0);
}

TEST_CASE("a fabric carries messages alone once all connections were reset") {
  for (const int flows : {1, 3})
    for (const int turns : {0, 5}) {
      CAPTURE(flows);
      CAPTURE(turns);
      test::HybridPair pair({}, flows, test::tcp_pair);
      test::HybridExchange exchange(pair, 3'000'017);
      exchange.progress(turns);
      reset_all(pair.a->sockets_of_peer);
      exchange.check();
      const auto failures = [&] { return pair.a->link("tcp").failures; };
      CHECK(pair.settle_until([&] { return failures() == static_cast<std::uint64_t>(flows); }));
      test::HybridExchange(pair, 100'003).check();
      CHECK(pair.a->link("tcp").connections == 0);
      CHECK(pair.a->link("fabric").connections == 1);
      REQUIRE(pair.a->reports.warnings.size() == 1);
      CHECK(pair.a->reports.warnings.front().starts_with(
          "the network of 127.0.0.1 has failed on the way to rank 1 ("));
      CHECK(pair.a->reports.warnings.front().ends_with("): the others carry its share"));
    }
}

/// Resets the connections from the peer and sends it a message. Returns the time until it is lost,
/// 20 seconds at most.
std::chrono::steady_clock::duration time_to_loss_after_reset(test::HybridPair& pair) {
  reset_all(pair.b->sockets_of_peer);
  const std::vector<std::byte> bytes(100, std::byte{7});
  pair.a->send(1, bytes);
  const auto began = std::chrono::steady_clock::now();
  while (pair.a->reports.loss().empty() && std::chrono::steady_clock::now() - began < 20s)
    pair.a->transport->progress();
  return std::chrono::steady_clock::now() - began;
}

TEST_CASE("a peer whose last connection was reset is lost if it does not answer by the fabric") {
  test::HybridPair pair({}, 1, test::tcp_pair);
  pair.wire->is_silent = true;
  CHECK(time_to_loss_after_reset(pair) > 5s);
  CHECK(pair.a->reports.loss() == "Connection reset by peer");
}

TEST_CASE("a peer whose last connection was reset is lost as soon as the fabric fails") {
  test::HybridPair pair({}, 1, test::tcp_pair);
  pair.wire->is_broken = true;
  CHECK(time_to_loss_after_reset(pair) < 5s);
  CHECK(pair.a->reports.losses == 1);
}

TEST_CASE("a rank may leave by a fabric alone") {
  WithoutConnections pair(1);
  test::HybridExchange(pair, 1'000'003).check();
  test::HybridExchange last(pair, 1'000'003);
  while (pair.b->reports.received_messages < 2 || pair.b->reports.sent_messages < 2)
    pair.settle();
  pair.b->transport.reset();
  const Deadline deadline(20s);
  while (pair.a->reports.sent_messages < 2 && !deadline.passed())
    pair.a->transport->progress();
  CHECK(last.got == last.values);
  CHECK(pair.a->reports.sent_messages == 2);
}

TEST_CASE("the last connection is kept while its peer does not answer by the fabric either") {
  WithoutConnections pair(1);
  test::HybridExchange exchange(pair, 1'000'003);
  pair.wire->is_silent = true;
  const Deadline quiet(2s);
  while (!quiet.passed())
    pair.settle();
  CHECK(pair.a->link("tcp").connections == 1);
  CHECK(pair.a->link("fabric").connections == 1);
  drop_nothing(pair.a->sockets_of_peer);
  drop_nothing(pair.b->sockets_of_peer);
  exchange.check();
  CHECK(pair.settle_until([&] { return pair.a->link("fabric").failures == 1; }));
}

/// Sends a message, and moves on until it has come.
void deliver(test::HybridPair& pair, std::span<const std::byte> bytes, std::span<std::byte> got,
             const Deadline& deadline) {
  pair.a->send(1, bytes);
  pair.b->receive(1, {.memory = got});
  while (pair.b->reports.received_messages == 0 && !deadline.passed()) {
    pair.a->transport->progress();
    pair.b->transport->progress();
  }
}

/// Lets a rank leave as soon as it has a message, with a fabric that is silent from then on or not.
void check_last_message(std::size_t length, bool is_silent) {
  test::HybridPair pair;
  const std::vector<std::byte> bytes(length, std::byte{7});
  std::vector<std::byte> got(bytes.size());
  const Deadline deadline(20s);
  deliver(pair, bytes, got, deadline);
  pair.wire->is_silent = is_silent;
  pair.b->transport.reset();
  while (pair.a->reports.loss().empty() && !deadline.passed())
    pair.a->transport->progress();
  CHECK(pair.a->reports.sent_messages == 1);
  CHECK(got == bytes);
}

TEST_CASE(
    "a rank may leave once its messages are confirmed, though the news of that is on its way") {
  for (const std::size_t length : {100U, 20'000U, 300'000U})
    check_last_message(length, false);
}

TEST_CASE("a rank may leave though the fabric has lost its confirmations") {
  for (const std::size_t length : {100U, 20'000U, 300'000U})
    check_last_message(length, true);
}

TEST_CASE("a frame that no rank sends ends the connection with its peer") {
  const auto wire = std::make_shared<test::FabricWire>();
  auto [near, far] = test::socket_pair();
  std::vector<UniqueFd> flows;
  flows.push_back(std::move(near));
  test::HybridEnd end(1, std::move(flows));
  auto fabric = std::make_unique<FabricTransport>(Rank{0}, 2, wire->endpoint());
  FabricTransport stranger({1}, 2, wire->endpoint());
  REQUIRE(fabric->connect({1}, stranger.card()));
  REQUIRE(stranger.connect({0}, fabric->card()));
  test::TransportReports reports;
  stranger.open(reports);
  end.carry_by(std::move(fabric));
  const std::vector<std::byte> nonsense(kFrameBytes, std::byte{9});
  Outgoing message{.peer = {0}, .tag = {0}, .bytes = nonsense};
  stranger.send(message);
  for (int i = 0; i < 100; ++i) {
    stranger.progress();
    end.transport->progress();
  }
  CHECK(end.reports.loss() == "it sent what no rank of this version sends");
}

TEST_CASE("a peer that leaves while the fabric is tried again is lost, and no attempt goes on") {
  test::HybridPair pair({}, 2);
  pair.fail_once();
  CHECK(pair.settle_until([&] { return pair.a->source->requests >= 2; }));
  pair.b->transport.reset();
  const Deadline deadline(1s);
  while (!deadline.passed())
    pair.a->transport->progress();
  CHECK(pair.a->reports.losses == 1);
  const int tries = pair.a->source->requests;
  const Deadline later(500ms);
  while (!later.passed())
    pair.a->transport->progress();
  CHECK(pair.a->source->requests == tries);
  CHECK(pair.a->transport->may_sleep());
}

TEST_CASE("a card for a network that there is not ends the connection with its sender") {
  auto [near, far] = test::socket_pair();
  std::vector<UniqueFd> flows;
  flows.push_back(std::move(near));
  test::HybridEnd end(1, std::move(flows));
  const auto frame = encode({.kind = TcpFrameKind::card, .tag = {7}});
  REQUIRE(::send(far.get(), frame.data(), frame.size(), 0) == kFrameBytes);
  end.transport->progress();
  CHECK(end.reports.loss() == "it named a network that there is not");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
