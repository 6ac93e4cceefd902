// Messages that connections and a fabric carry together: the fabric is a stand-in for libfabric in
// which ranks are threads, and which fails when a test wants it.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/common/deadline.hpp"
#include "comm/communicator/communicator.hpp"
#include "comm/transports/carried_flow.hpp"
#include "comm/transports/fabric_transport.hpp"
#include "comm/transports/tcp_transport.hpp"
#include "support/connect_in_process.hpp"
#include "support/fabric_in_process.hpp"
#include "support/failure.hpp"
#include "support/run_ranks.hpp"
#include "support/transport_checks.hpp"
#include "support/transport_reports.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// Opens endpoints of a wire at once, whose pieces are registered and not copied.
class WireSource final : public TransportSource {
 public:
  static constexpr std::size_t kCopyLimit = 0;

  WireSource(std::shared_ptr<test::FabricWire> wire, Rank self, int size)
      : wire_(std::move(wire)), self_(self), size_(size) {}

  void request() override {
    ++requests;
    if (refuses) return;
    opened_ = std::make_unique<FabricTransport>(self_, size_, wire_->endpoint(), kCopyLimit);
  }
  bool is_busy() const override { return false; }
  std::unique_ptr<MeetingTransport> take() override { return std::move(opened_); }

  int requests = 0;
  bool refuses = false;

 private:
  std::shared_ptr<test::FabricWire> wire_;
  Rank self_;
  int size_;
  std::unique_ptr<MeetingTransport> opened_;
};

constexpr RetryTimes kSoonAgain{.first = 20ms, .longest = 160ms, .stable = 10s};

/// One of two ranks.
struct HybridEnd {
  HybridEnd(int other, std::vector<UniqueFd> flows) : peer{other} {
    for (const UniqueFd& flow : flows)
      sockets_of_peer.push_back(flow.get());
    std::vector<std::vector<UniqueFd>> sockets(2);
    sockets[static_cast<std::size_t>(other)] = std::move(flows);
    transport.emplace(std::move(sockets), reports, reports, Confirmation::of_frames);
  }

  void carry_by(std::unique_ptr<FabricTransport> fabric,
                std::unique_ptr<WireSource> opener = nullptr, std::uint64_t number = 0) {
    auto carrier = std::make_unique<FlowCarrier>(reports);
    fabric->open(*carrier);
    carrier->use(std::move(fabric));
    source = opener.get();
    transport->carry_by(number, std::move(carrier), std::move(opener), kSoonAgain);
  }

  void send(std::uint64_t tag, std::span<const std::byte> bytes) {
    outgoing.push_back({.peer = peer, .tag = {tag}, .bytes = bytes});
    transport->send(outgoing.back());
  }
  void receive(std::uint64_t tag, const MessageSink& sink) {
    incoming.push_back({.peer = peer, .tag = {tag}, .sink = sink});
    transport->receive(incoming.back());
  }
  LinkCounters link(const std::string& kind) const {
    for (const LinkCounters& each : transport->links())
      if (each.name.starts_with(kind)) return each;
    return {};
  }

  Rank peer;
  std::vector<int> sockets_of_peer;
  test::TransportReports reports;
  std::deque<Outgoing> outgoing;
  std::deque<Incoming> incoming;
  WireSource* source = nullptr;
  std::optional<TcpTransport> transport;
};

struct HybridPair {
  explicit HybridPair(const test::WireTraits& traits = {}, int flows = 1)
      : wire(std::make_shared<test::FabricWire>(traits)) {
    std::vector<UniqueFd> of_a;
    std::vector<UniqueFd> of_b;
    for (int i = 0; i < flows; ++i) {
      auto [near, far] = test::socket_pair();
      of_a.push_back(std::move(near));
      of_b.push_back(std::move(far));
    }
    a.emplace(1, std::move(of_a));
    b.emplace(0, std::move(of_b));
    std::vector<std::unique_ptr<FabricTransport>> fabrics;
    for (int r = 0; r < 2; ++r)
      fabrics.push_back(std::make_unique<FabricTransport>(Rank{r}, 2, wire->endpoint()));
    REQUIRE(fabrics[0]->connect({1}, fabrics[1]->card()));
    REQUIRE(fabrics[1]->connect({0}, fabrics[0]->card()));
    a->carry_by(std::move(fabrics[0]), std::make_unique<WireSource>(wire, Rank{0}, 2));
    b->carry_by(std::move(fabrics[1]), std::make_unique<WireSource>(wire, Rank{1}, 2));
    settle();
  }

  /// Moves what moves by itself.
  void settle() {
    for (int quiet = 0; quiet < 100; ++quiet)
      if (int(a->transport->progress()) + int(b->transport->progress()) > 0) quiet = 0;
  }

  template <class Condition>
  bool settle_until(const Condition& condition, std::chrono::milliseconds limit = 20s) {
    const Deadline deadline(limit);
    while (!condition() && !deadline.passed())
      settle();
    return condition();
  }

  /// Breaks the fabric while it carries a message, and waits until both ends have counted that.
  void fail_once();
  /// Waits until both ends use the fabric, after so many failures.
  void check_use_again(std::uint64_t times = 1);

  std::shared_ptr<test::FabricWire> wire;
  std::optional<HybridEnd> a;
  std::optional<HybridEnd> b;
};

std::vector<float> counted_up(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

/// A message each way, reduced at one end.
struct HybridExchange {
  explicit HybridExchange(HybridPair& ends, std::size_t count)
      : pair(ends), values(counted_up(count)) {
    const auto tag = static_cast<std::uint64_t>(before + 1);
    pair.a->send(tag, std::as_bytes(std::span(values)));
    pair.b->send(tag, std::as_bytes(std::span(values)));
    pair.b->receive(tag, {.memory = std::as_writable_bytes(std::span(sums)),
                          .reduction = Reduction{ElementType::float32, ReduceOp::sum}});
    pair.a->receive(tag, {.memory = std::as_writable_bytes(std::span(got))});
  }

  void progress(int turns) const {
    for (int turn = 0; turn < turns; ++turn) {
      pair.a->transport->progress();
      pair.b->transport->progress();
    }
  }

  bool is_done() const {
    return pair.a->reports.received_messages == before + 1 &&
           pair.b->reports.received_messages == before + 1 &&
           pair.a->reports.sent_messages == before + 1 &&
           pair.b->reports.sent_messages == before + 1;
  }

  void check() {
    CHECK(pair.settle_until([&] { return is_done(); }));
    CHECK(pair.a->reports.loss() == "");
    CHECK(pair.b->reports.loss() == "");
    CHECK(got == values);
    CHECK(std::ranges::equal(sums, values,
                             [](float sum, float value) { return sum == value + value; }));
  }

  HybridPair& pair;
  int before = pair.a->reports.sent_messages;
  std::vector<float> values;
  std::vector<float> sums = values;
  std::vector<float> got = std::vector<float>(values.size());
};

void HybridPair::fail_once() {
  const auto failures = [&] {
    return std::min(a->link("fabric").failures, b->link("fabric").failures);
  };
  const std::uint64_t before = failures();
  wire->is_broken = true;
  HybridExchange(*this, 100'003).check();
  CHECK(settle_until([&] { return failures() == before + 1; }));
  CHECK(a->link("fabric").connections == 0);
  CHECK(b->link("fabric").connections == 0);
}

void HybridPair::check_use_again(std::uint64_t times) {
  CHECK(settle_until(
      [&] { return a->link("fabric").connections == 1 && b->link("fabric").connections == 1; }));
  settle();
  for (const HybridEnd* end : {&*a, &*b}) {
    CHECK(end->link("fabric").reconnects == times);
    CHECK(end->link("fabric").failures == times);
    CHECK(end->link("tcp").connections == 1);
    const std::string other = std::to_string(end->peer.value);
    CHECK(end->reports.warnings.back() ==
          "the fabric wire test is used again on the way to rank " + other);
  }
  const std::uint64_t carried = a->link("fabric").bytes_sent;
  HybridExchange(*this, 1'000'003).check();
  CHECK(a->link("fabric").bytes_sent > carried);
}

/// A carrier that keeps what it is given, for tests of one flow.
class KeptMessages final : public Transport {
 public:
  explicit KeptMessages(TransportEvents& events) : events_(events) {}

  TransportCapabilities capabilities() const noexcept override { return {}; }
  bool reaches(Rank) const noexcept override { return true; }
  void send(Outgoing& message) override { events_.sent(message); }
  void receive(Incoming&) override {}
  bool progress() override { return false; }
  bool may_sleep() override { return true; }
  bool is_quiet() const noexcept override { return true; }
  void abandon() noexcept override {}
  std::vector<LinkCounters> links() const override { return {{.name = "kept"}}; }

 private:
  TransportEvents& events_;
};

TEST_SUITE_BEGIN("comm/hybrid_transport");

TEST_CASE("connections and a fabric carry one message together, each byte once") {
  for (const fabric::Put put : fabric::kPuts)
    for (const int flows : {1, 3}) {
      CAPTURE(name_of(put));
      HybridPair pair({.put = put, .needs_local = flows == 3}, flows);
      HybridExchange exchange(pair, 3'000'017);
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
  HybridPair pair;
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
      HybridPair pair({.put = put, .needs_local = turns % 2 == 0});
      HybridExchange exchange(pair, 1'000'003);
      exchange.progress(turns);
      pair.wire->is_broken = true;
      exchange.check();
    }
}

TEST_CASE("a fabric that fails is counted and reported once, and messages go on") {
  HybridPair pair;
  pair.wire->is_broken = true;
  HybridExchange exchange(pair, 1'000'003);
  exchange.check();
  CHECK(pair.settle_until([&] { return pair.a->link("fabric").failures == 1; }));
  CHECK(pair.a->link("fabric").connections == 0);
  CHECK(pair.a->link("tcp").connections == 1);
  REQUIRE(pair.a->reports.warnings.size() == 1);
  CHECK(pair.a->reports.warnings.front() ==
        "the fabric wire test has failed on the way to rank 1: other connections carry its share");
}

TEST_CASE("a fabric that falls silent is left after a second") {
  for (const fabric::Put put : {fabric::Put::none, fabric::Put::with_data}) {
    HybridPair pair({.put = put});
    HybridExchange exchange(pair, 1'000'003);
    exchange.progress(3);
    pair.wire->is_silent = true;
    const auto begin = std::chrono::steady_clock::now();
    exchange.check();
    CHECK(std::chrono::steady_clock::now() - begin < 10s);
    CHECK(pair.a->link("fabric").connections == 0);
  }
}

TEST_CASE("a fabric that comes back is used again, each byte once") {
  for (const fabric::Put put : fabric::kPuts) {
    CAPTURE(name_of(put));
    HybridPair pair({.put = put, .needs_local = put == fabric::Put::with_data});
    for (const std::uint64_t times : {1U, 2U, 3U}) {
      pair.fail_once();
      pair.wire->is_broken = false;
      pair.check_use_again(times);
    }
  }
}

TEST_CASE("a fabric that was silent and answers again is used again") {
  HybridPair pair;
  HybridExchange exchange(pair, 1'000'003);
  exchange.progress(3);
  pair.wire->is_silent = true;
  exchange.check();
  pair.wire->is_silent = false;
  pair.check_use_again();
}

TEST_CASE(
    "a fabric that stays broken is tried at growing intervals, and its endpoints are closed") {
  HybridPair pair;
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
  HybridExchange(pair, 100'003).check();
  pair.wire->is_broken = false;
  pair.check_use_again();
}

TEST_CASE("a rank that cannot open the fabric again refuses, until it can") {
  HybridPair pair;
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
  HybridPair pair({.put = fabric::Put::with_data, .needs_local = true});
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

TEST_CASE("a peer that leaves while the fabric is tried again is lost, and no attempt goes on") {
  HybridPair pair({}, 2);
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

/// Two ranks between which two fabrics carry the messages, and connections what is left.
struct TwoFabrics {
  explicit TwoFabrics(fabric::Put put) : pair({.put = put}) {
    second = std::make_shared<test::FabricWire>(test::WireTraits{.put = put, .device = "second"});
    std::vector<std::unique_ptr<FabricTransport>> fabrics;
    for (int r = 0; r < 2; ++r)
      fabrics.push_back(std::make_unique<FabricTransport>(Rank{r}, 2, second->endpoint()));
    REQUIRE(fabrics[0]->connect({1}, fabrics[1]->card()));
    REQUIRE(fabrics[1]->connect({0}, fabrics[0]->card()));
    pair.a->carry_by(std::move(fabrics[0]), std::make_unique<WireSource>(second, Rank{0}, 2), 7);
    pair.b->carry_by(std::move(fabrics[1]), std::make_unique<WireSource>(second, Rank{1}, 2), 7);
    pair.a->transport->spare_connections();
    pair.b->transport->spare_connections();
    pair.settle();
  }

  std::uint64_t sent_by(const std::string& link) { return pair.a->link(link).bytes_sent; }

  HybridPair pair;
  std::shared_ptr<test::FabricWire> second;
};

TEST_CASE("several devices of a fabric carry one message, and connections nothing of it") {
  for (const fabric::Put put : fabric::kPuts) {
    CAPTURE(name_of(put));
    TwoFabrics two(put);
    HybridExchange exchange(two.pair, 3'000'017);
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
  HybridExchange exchange(two.pair, 1'000'003);
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
  HybridExchange(two.pair, 1'000'003).check();
  CHECK(two.sent_by("fabric wire second") > before);
  CHECK(two.sent_by("tcp") == 0);
}

TEST_CASE("connections carry all once every device has failed") {
  TwoFabrics two(fabric::Put::none);
  HybridExchange exchange(two.pair, 1'000'003);
  exchange.progress(3);
  two.pair.wire->is_broken = true;
  two.second->is_broken = true;
  exchange.check();
  CHECK(two.sent_by("tcp") > 0);
}

TEST_CASE("a card for a network that there is not ends the connection with its sender") {
  auto [near, far] = test::socket_pair();
  std::vector<UniqueFd> flows;
  flows.push_back(std::move(near));
  HybridEnd end(1, std::move(flows));
  const auto frame = encode({.kind = TcpFrameKind::card, .tag = {7}});
  REQUIRE(::send(far.get(), frame.data(), frame.size(), 0) == kFrameBytes);
  end.transport->progress();
  CHECK(end.reports.loss() == "it named a network that there is not");
}

TEST_CASE("a peer that is busy for longer is not taken for a silent fabric") {
  HybridPair pair;
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
  HybridPair pair({}, 2);
  ::shutdown(pair.a->sockets_of_peer[0], SHUT_RDWR);
  HybridExchange exchange(pair, 1'000'003);
  exchange.check();
  ::shutdown(pair.a->sockets_of_peer[1], SHUT_RDWR);
  pair.settle();
  CHECK(pair.a->reports.loss() == "Connection reset by peer");
  CHECK(pair.b->reports.loss() == "Connection reset by peer");
}

/// Sends a message, and moves on until it has come.
void deliver(HybridPair& pair, std::span<const std::byte> bytes, std::span<std::byte> got,
             const Deadline& deadline) {
  pair.a->send(1, bytes);
  pair.b->receive(1, {.memory = got});
  while (pair.b->reports.received_messages == 0 && !deadline.passed()) {
    pair.a->transport->progress();
    pair.b->transport->progress();
  }
}

TEST_CASE(
    "a rank may leave once its messages are confirmed, though the news of that is on its way") {
  for (const std::size_t length : {100U, 20'000U, 300'000U}) {
    HybridPair pair;
    const std::vector<std::byte> bytes(length, std::byte{7});
    std::vector<std::byte> got(bytes.size());
    const Deadline deadline(20s);
    deliver(pair, bytes, got, deadline);
    pair.b->transport.reset();
    while (pair.a->reports.loss().empty() && !deadline.passed())
      pair.a->transport->progress();
    CHECK(pair.a->reports.sent_messages == 1);
  }
}

TEST_CASE("a rank may leave though the fabric has lost its confirmations") {
  for (const std::size_t length : {100U, 20'000U, 300'000U}) {
    HybridPair pair;
    const std::vector<std::byte> bytes(length, std::byte{7});
    std::vector<std::byte> got(bytes.size());
    const Deadline deadline(20s);
    deliver(pair, bytes, got, deadline);
    pair.wire->is_silent = true;
    pair.b->transport.reset();
    while (pair.a->reports.loss().empty() && !deadline.passed())
      pair.a->transport->progress();
    CHECK(pair.a->reports.sent_messages == 1);
    CHECK(got == bytes);
  }
}

TEST_CASE("a frame that no rank sends ends the connection with its peer") {
  const auto wire = std::make_shared<test::FabricWire>();
  auto [near, far] = test::socket_pair();
  std::vector<UniqueFd> flows;
  flows.push_back(std::move(near));
  HybridEnd end(1, std::move(flows));
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

TEST_CASE("as many frames are under way as the peer confirms in a short time") {
  test::TransportReports reports;
  FlowCarrier carrier(reports);
  carrier.use(std::make_unique<KeptMessages>(carrier));
  LinkCounters link;
  CarriedFlow flow({1}, carrier, link);
  const std::vector<std::byte> bytes(100);
  Outgoing owner;
  const auto fill = [&] {
    std::size_t frames = 0;
    for (; flow.has_room(); ++frames) {
      flow.begin({.kind = TcpFrameKind::chunk, .length = 100, .total = 100}, bytes, &owner);
      REQUIRE(flow.write());
    }
    return frames;
  };
  // Confirmed at once: the window grows.
  std::size_t sent = fill();
  const std::size_t first = sent;
  for (int i = 0; i < 100; ++i) {
    flow.confirmed(sent);
    sent = fill();
  }
  CHECK(sent > first);
  CHECK(sent <= 16);
  // Confirmed late: it shrinks, but never to nothing.
  for (int i = 0; i < 20; ++i) {
    const Deadline late(6ms);
    while (!late.passed()) {
    }
    flow.confirmed(sent);
    sent = fill();
  }
  CHECK(sent == 2);
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
    connections[r].fabric_source = std::make_unique<WireSource>(wire, connections[r].rank, size);
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
