// Long messages over connections: how far ahead of their receiver they go.
#include "comm/transports/tcp_transport.hpp"

#include <doctest/doctest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/common/deadline.hpp"

#include "support/connect_in_process.hpp"
#include "support/transport_reports.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kMebibyte = 1 << 20;

/// Connections that a test makes anew.
class ReplacementsOfTest final : public Reconnector {
 public:
  /// The state that the test shares with the transport, which owns the reconnector.
  struct Requests {
    UniqueFd bell{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    std::vector<Rank> wanted{};
    std::vector<Made> made{};

    void give(Rank peer, UniqueFd socket) {
      made.push_back({peer, std::move(socket)});
      const std::uint64_t ring = 1;
      REQUIRE(::write(bell.get(), &ring, sizeof(ring)) == sizeof(ring));
    }
  };

  explicit ReplacementsOfTest(Requests& requests) : requests_(requests) {}

  void replace(Rank peer, const std::string&) override { requests_.wanted.push_back(peer); }
  void forget(Rank peer) override { std::erase(requests_.wanted, peer); }
  std::vector<Made> take() override {
    std::uint64_t rings = 0;
    REQUIRE(::read(requests_.bell.get(), &rings, sizeof(rings)) == sizeof(rings));
    return std::exchange(requests_.made, {});
  }
  int poll_descriptor() const noexcept override { return requests_.bell.get(); }
  std::vector<int> descriptors() const override { return {requests_.bell.get()}; }

 private:
  Requests& requests_;
};

/// One rank's transport, what it reports, and the messages that it borrows.
struct End {
  End(int other, std::vector<UniqueFd> flows, Confirmation confirmation) : peer{other} {
    for (const UniqueFd& flow : flows)
      sockets_of_peer.push_back(flow.get());
    std::vector<std::vector<UniqueFd>> sockets(2);
    sockets[static_cast<std::size_t>(other)] = std::move(flows);
    transport.emplace(std::move(sockets), events, events, confirmation);
    if (confirmation == Confirmation::of_frames)
      transport->use(std::make_unique<ReplacementsOfTest>(replacements));
  }

  void send(std::uint64_t tag, std::span<const std::byte> bytes, std::int32_t priority = 0) {
    outgoing.push_back({.peer = peer, .tag = {tag}, .bytes = bytes, .priority = priority});
    transport->send(outgoing.back());
  }
  void receive(std::uint64_t tag, const MessageSink& sink) {
    incoming.push_back({.peer = peer, .tag = {tag}, .sink = sink});
    transport->receive(incoming.back());
  }

  Rank peer;
  std::vector<int> sockets_of_peer;
  test::TransportReports events;
  std::deque<Outgoing> outgoing;
  std::deque<Incoming> incoming;
  ReplacementsOfTest::Requests replacements;
  std::optional<TcpTransport> transport;
};

struct Pair {
  explicit Pair(int flows, Confirmation confirmation = Confirmation::none) {
    std::vector<UniqueFd> of_a;
    std::vector<UniqueFd> of_b;
    for (int i = 0; i < flows; ++i) {
      auto [near, far] = test::socket_pair();
      of_a.push_back(std::move(near));
      of_b.push_back(std::move(far));
    }
    a.emplace(1, std::move(of_a), confirmation);
    // Connections are accepted in any order.
    std::ranges::reverse(of_b);
    b.emplace(0, std::move(of_b), confirmation);
  }

  /// Moves what moves by itself.
  void settle() {
    for (int quiet = 0; quiet < 100; ++quiet)
      if (int(a->transport->progress()) + int(b->transport->progress()) > 0) quiet = 0;
  }

  std::optional<End> a;
  std::optional<End> b;
};

std::vector<float> numbers(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

TEST_SUITE_BEGIN("comm/tcp_transport");

TEST_CASE("a long message goes ahead, and is reduced once it is asked for") {
  Pair pair(3);
  const auto values = numbers(400'001);
  for (std::uint64_t round = 1; round <= 20; ++round) {
    auto sums = values;
    pair.a->send(round, std::as_bytes(std::span(values)));
    pair.settle();
    CHECK(pair.a->events.sent_messages == static_cast<int>(round));
    pair.b->receive(round, {.memory = std::as_writable_bytes(std::span(sums)),
                            .reduction = Reduction{ElementType::float32, ReduceOp::sum}});
    pair.settle();
    CHECK(pair.b->events.received_messages == static_cast<int>(round));
    CHECK(sums.back() == 2 * values.back());
    CHECK(sums.front() == 2 * values.front());
  }
}

TEST_CASE("a long message stays in its connection while a receive may be about to ask for it") {
  Pair pair(1);
  const std::vector<std::byte> sent(60'000, std::byte{7});
  std::vector<std::byte> taken(sent.size());
  pair.a->send(1, sent);
  pair.b->transport->progress();
  pair.b->receive(1, {.memory = taken});
  CHECK(pair.b->events.received_messages == 0);  // It was not read before, and copied.
  while (pair.b->events.received_messages == 0)
    pair.b->transport->progress();
  CHECK(taken == sent);

  pair.a->send(2, sent);
  pair.settle();
  std::ranges::fill(taken, std::byte{});
  pair.b->receive(2, {.memory = taken});
  CHECK(pair.b->events.received_messages == 2);
  CHECK(taken == sent);
}

TEST_CASE("a short message is sent and taken within calls, with its note and without a report") {
  Pair pair(2);
  REQUIRE(pair.a->transport->capabilities().most_now == kMostNow);
  std::vector<std::byte> bytes(kMostNow, std::byte{7});
  const Note note{};
  Outgoing message{.peer = {1}, .tag = {1}, .bytes = bytes, .note = &note};
  REQUIRE(pair.a->transport->send_now(message));
  std::ranges::fill(bytes, std::byte{8});  // It is sent: its bytes may change.
  std::vector<std::byte> taken(bytes.size());
  Incoming wanted{.peer = {0}, .tag = {1}, .sink = {.memory = taken}};
  // Each looks into another connection.
  CHECK((pair.b->transport->receive_now(wanted) || pair.b->transport->receive_now(wanted)));
  CHECK(std::ranges::count(taken, std::byte{7}) == std::ssize(taken));
  CHECK(pair.b->events.notes == 1);
  CHECK(pair.a->events.sent_messages == 0);
  CHECK(pair.b->events.received_messages == 0);
}

TEST_CASE("a receive within a call takes what has come before, and leaves other messages") {
  Pair pair(1);
  const std::vector<std::byte> bytes(100, std::byte{7});
  for (const std::uint64_t tag : {1, 2, 3}) {
    Outgoing message{.peer = {1}, .tag = {tag}, .bytes = bytes};
    REQUIRE(pair.a->transport->send_now(message));
    if (tag == 1) pair.settle();
  }
  std::vector<std::byte> taken(bytes.size());
  for (const std::uint64_t tag : {1, 3, 2}) {
    std::ranges::fill(taken, std::byte{});
    Incoming wanted{.peer = {0}, .tag = {tag}, .sink = {.memory = taken}};
    CHECK(pair.b->transport->receive_now(wanted));
    CHECK(taken == bytes);
  }
  Incoming not_sent{.peer = {0}, .tag = {4}, .sink = {.memory = taken}};
  CHECK_FALSE(pair.b->transport->receive_now(not_sent));
  pair.a->send(4, bytes);
  pair.b->receive(4, {.memory = taken});
  pair.settle();
  CHECK(pair.b->events.received_messages == 1);
}

TEST_CASE("no message within a call overtakes what waits for room in the connection") {
  Pair pair(1);
  const std::vector<std::byte> much(kMostAhead);
  pair.a->send(1, much);
  Outgoing message{.peer = {1}, .tag = {2}, .bytes = std::span(much).first(8)};
  CHECK_FALSE(pair.a->transport->send_now(message));
}

TEST_CASE("a message of another length than that of a receive within a call ends the connection") {
  Pair pair(1);
  const std::vector<std::byte> bytes(100);
  Outgoing message{.peer = {1}, .tag = {1}, .bytes = bytes};
  REQUIRE(pair.a->transport->send_now(message));
  std::vector<std::byte> shorter(99);
  Incoming wanted{.peer = {0}, .tag = {1}, .sink = {.memory = shorter}};
  CHECK_FALSE(pair.b->transport->receive_now(wanted));
  CHECK(pair.b->events.loss() == "it sent 100 bytes where 99 were expected");
}

TEST_CASE("where frames are confirmed, none is sent within a call") {
  Pair pair(2, Confirmation::of_frames);
  CHECK(pair.a->transport->capabilities().most_now == 0);
}

TEST_CASE("of what nobody asks for only so much goes ahead") {
  Pair pair(2);
  std::vector<std::byte> bytes(kMebibyte, std::byte{7});
  for (std::uint64_t tag = 0; tag < 4; ++tag)
    pair.a->send(tag, bytes);
  pair.settle();
  CHECK(pair.a->events.sent_messages == 2);
  CHECK(pair.a->outgoing[2].moved == 0);

  std::vector<std::vector<std::byte>> got(4, std::vector<std::byte>(kMebibyte));
  for (const std::uint64_t tag : {3, 0, 2, 1}) {
    pair.b->receive(tag, {.memory = got[tag]});
    pair.settle();
  }

  CHECK(pair.a->events.sent_messages == 4);
  CHECK(pair.b->events.received_messages == 4);
  for (const auto& one : got)
    CHECK(one == bytes);
}

TEST_CASE("a sender that is far ahead waits until its messages are asked for") {
  Pair pair(1);
  constexpr std::size_t kSize = 64 << 10;
  constexpr std::uint64_t kCount = 2 * kMostUnasked / kSize;
  const std::vector<std::byte> bytes(kSize, std::byte{7});
  for (std::uint64_t tag = 0; tag < kCount; ++tag)
    pair.a->send(tag, bytes);
  pair.settle();
  CHECK(pair.a->events.sent_messages < static_cast<int>(kCount) * 3 / 5);
  CHECK_FALSE(pair.b->transport->is_quiet());

  std::vector<std::byte> got(kSize);
  for (std::uint64_t tag = 0; tag < kCount; ++tag) {
    got.assign(kSize, std::byte{0});
    pair.b->receive(tag, {.memory = got});
    while (pair.b->events.received_messages <= static_cast<int>(tag))
      pair.settle();
    REQUIRE(got == bytes);
    pair.b->incoming.clear();
  }
  CHECK(pair.a->events.sent_messages == static_cast<int>(kCount));
  CHECK(pair.b->transport->is_quiet());
}

TEST_CASE("what is waited for comes through behind what is not") {
  Pair pair(2);
  constexpr std::size_t kSize = 64 << 10;
  constexpr std::uint64_t kCount = kMostUnasked / kSize + 1000;
  const std::vector<std::byte> bytes(kSize, std::byte{7});
  for (std::uint64_t tag = 0; tag < kCount; ++tag)
    pair.a->send(tag, bytes);
  std::vector<std::byte> got(kSize);
  pair.b->receive(kCount - 1, {.memory = got});
  while (pair.b->events.received_messages == 0)
    pair.settle();
  CHECK(got == bytes);
}

TEST_CASE("a peer that goes while it is held back is noticed") {
  Pair pair(1);
  constexpr std::size_t kSize = 64 << 10;
  const std::vector<std::byte> bytes(kSize, std::byte{7});
  for (std::uint64_t tag = 0; tag < 2 * kMostUnasked / kSize; ++tag)
    pair.a->send(tag, bytes);
  pair.settle();
  pair.a.reset();
  for (int i = 0; i < 100 && pair.b->events.loss().empty(); ++i)
    pair.b->transport->progress();
  CHECK_FALSE(pair.b->events.loss().empty());
}

TEST_CASE("what is urgent overtakes what is under way, and all of it arrives whole") {
  Pair pair(1);
  std::vector<std::vector<std::byte>> sent, got(4, std::vector<std::byte>(16 * kMebibyte));
  for (std::uint8_t tag = 0; tag < 4; ++tag) {
    sent.emplace_back(16 * kMebibyte, std::byte{tag});
    pair.b->receive(tag, {.memory = got[tag]});
  }
  for (int i = 0; i < 20; ++i)  // What is asked for gets about.
    pair.b->transport->progress();
  pair.a->transport->progress();
  pair.a->send(0, sent[0]);
  pair.a->transport->progress();  // As much as the connection has room for.
  pair.a->send(1, sent[1]);
  pair.a->send(2, sent[2], 5);
  pair.a->send(3, sent[3], 5);
  std::vector<std::uint64_t> order;
  while (order.size() < 4) {
    pair.a->transport->progress();
    pair.b->transport->progress();
    for (const Incoming& each : pair.b->incoming)
      if (each.moved == each.sink.memory.size() &&
          std::ranges::find(order, each.tag.value) == order.end())
        order.push_back(each.tag.value);
  }
  CHECK(order == std::vector<std::uint64_t>{2, 3, 0, 1});
  CHECK(got == sent);
}

/// The other side of one connection, which says what no rank does.
struct Stranger {
  void send(const Frame& frame) {
    const EncodedFrame header = encode(frame);
    const std::vector<std::byte> body(frame.length, std::byte{9});
    REQUIRE(::send(socket.get(), header.data(), header.size(), 0) == std::ssize(header));
    for (std::size_t at = 0; at < body.size();) {
      const auto sent = ::send(socket.get(), body.data() + at, body.size() - at, MSG_DONTWAIT);
      if (sent > 0) at += static_cast<std::size_t>(sent);
      while (end->transport->progress()) {
      }
    }
    while (end->transport->progress()) {
    }
  }

  explicit Stranger(Confirmation confirmation = Confirmation::none) {
    auto [near, far] = test::socket_pair();
    auto [second_near, second_far] = test::socket_pair();
    std::vector<UniqueFd> flows;
    flows.push_back(std::move(near));
    if (confirmation == Confirmation::of_frames) flows.push_back(std::move(second_near));
    end.emplace(1, std::move(flows), confirmation);
    socket = std::move(far);
    second = std::move(second_far);
  }

  std::optional<End> end;
  UniqueFd socket;
  UniqueFd second;
};

Frame chunk(std::uint64_t offset, std::uint64_t total) {
  return {.kind = TcpFrameKind::chunk,
          .tag = {1},
          .length = static_cast<std::uint32_t>(kChunkBytes),
          .offset = offset,
          .total = total};
}

TEST_CASE("a message that is asked for when half of it is there is completed") {
  Stranger stranger;
  stranger.send(chunk(kChunkBytes, 2 * kChunkBytes));
  std::vector<std::byte> got(2 * kChunkBytes);
  stranger.end->receive(1, {.memory = got});
  CHECK(stranger.end->events.received_messages == 0);
  stranger.send(chunk(0, 2 * kChunkBytes));
  CHECK(stranger.end->events.received_messages == 1);
  CHECK(got == std::vector<std::byte>(2 * kChunkBytes, std::byte{9}));
}

TEST_CASE("a chunk of the greatest length is taken, added up, or kept until it is asked for") {
  constexpr std::size_t kLength = kMostChunkBytes;
  const Frame whole{.kind = TcpFrameKind::chunk,
                    .tag = {1},
                    .length = static_cast<std::uint32_t>(kLength),
                    .total = kLength};
  const std::vector<std::byte> sent(kLength, std::byte{9});
  Stranger stranger;
  std::vector<std::byte> got(kLength);
  SUBCASE("it is asked for before it comes") {
    stranger.end->receive(1, {.memory = got});
    stranger.send(whole);
    CHECK(got == sent);
  }
  SUBCASE("it comes before it is asked for") {
    stranger.send(whole);
    stranger.end->receive(1, {.memory = got});
    CHECK(got == sent);
  }
  SUBCASE("its numbers are added") {
    stranger.end->receive(
        1, {.memory = got, .reduction = Reduction{ElementType::uint8, ReduceOp::sum}});
    stranger.send(whole);
    CHECK(got == sent);
  }
  CHECK(stranger.end->events.received_messages == 1);
}

TEST_CASE("a chunk that is longer than any is refused") {
  Stranger stranger;
  Frame longer = chunk(0, 4 * kMostChunkBytes);
  longer.length = kMostChunkBytes + 1;
  const EncodedFrame header = encode(longer);
  REQUIRE(::send(stranger.socket.get(), header.data(), header.size(), 0) == std::ssize(header));
  while (stranger.end->transport->progress()) {
  }
  CHECK(stranger.end->events.loss() == "it sent what no rank of this version sends");
}

TEST_CASE("what goes ahead further than it may, or twice, ends the connection") {
  const auto loss_of = [](std::initializer_list<Frame> frames) {
    Stranger stranger;
    for (const Frame& frame : frames)
      stranger.send(frame);
    return stranger.end->events.loss();
  };
  CHECK(loss_of({chunk(0, kMostAhead + 1)}) == "it sent a message that nobody asked for");
  CHECK(loss_of({chunk(0, kChunkBytes), chunk(0, kChunkBytes)}) == "it sent a message twice");
  CHECK(loss_of({chunk(0, 2 * kChunkBytes), chunk(0, 3 * kChunkBytes)}) ==
        "it sent a message twice");
  CHECK(loss_of({chunk(0, kChunkBytes + 8), chunk(8, kChunkBytes + 8)}) == "it sent bytes twice");
  CHECK(loss_of({chunk(0, 2 * kChunkBytes), chunk(kChunkBytes, 2 * kChunkBytes)}).empty());
}

/// Sends a message each way, reduced at one end, and ends connections of `pair` after so many
/// turns.
void exchange_while_they_end(Pair& pair, int turns, const std::vector<std::size_t>& ending) {
  const auto values = numbers(1'000'003);
  auto sums = values;
  std::vector<float> got(values.size());
  pair.a->send(1, std::as_bytes(std::span(values)));
  pair.b->send(1, std::as_bytes(std::span(values)));
  pair.b->receive(1, {.memory = std::as_writable_bytes(std::span(sums)),
                      .reduction = Reduction{ElementType::float32, ReduceOp::sum}});
  pair.a->receive(1, {.memory = std::as_writable_bytes(std::span(got))});
  for (int turn = 0; turn < turns; ++turn) {
    pair.a->transport->progress();
    pair.b->transport->progress();
  }
  for (const std::size_t flow : ending)
    ::shutdown(pair.a->sockets_of_peer[flow], SHUT_RDWR);
  pair.settle();

  CHECK(pair.a->events.loss() == "");
  CHECK(pair.b->events.loss() == "");
  for (End* const end : {&*pair.a, &*pair.b}) {
    CHECK(end->events.sent_messages == 1);
    CHECK(end->events.received_messages == 1);
  }
  CHECK(got == values);
  const bool are_doubled =
      std::ranges::equal(sums, values, [](float sum, float value) { return sum == value + value; });
  CHECK(are_doubled);
}

TEST_CASE("a message whose connection ends goes by the others, each byte once") {
  for (const int turns : {0, 1, 2, 3, 5, 8, 13, 21, 34, 55}) {
    CAPTURE(turns);
    Pair pair(3, Confirmation::of_frames);
    pair.settle();
    exchange_while_they_end(pair, turns, {1});
    CHECK(pair.a->transport->retired_flows() == 1);
    CHECK(pair.b->transport->retired_flows() == 1);
  }
}

TEST_CASE("all connections but one may end at once, whichever it is") {
  for (const auto& ending :
       std::vector<std::vector<std::size_t>>{{0, 3, 1}, {0, 1, 2}, {3, 2, 1}, {2, 0, 3}})
    for (const int turns : {0, 1, 3, 10, 30}) {
      CAPTURE(turns);
      Pair pair(4, Confirmation::of_frames);
      pair.settle();
      exchange_while_they_end(pair, turns, ending);
    }
}

TEST_CASE("messages go on after a connection has ended") {
  Pair pair(2, Confirmation::of_frames);
  pair.settle();
  exchange_while_they_end(pair, 5, {0});
  const std::vector<std::byte> bytes(3 * kMebibyte + 1, std::byte{5});
  std::vector<std::byte> got(bytes.size());
  pair.b->receive(2, {.memory = got});
  pair.a->send(2, bytes);
  pair.settle();
  CHECK(got == bytes);
  CHECK(pair.a->transport->is_quiet());
  CHECK(pair.a->transport->may_sleep());
}

TEST_CASE("a confirmation that went by a connection which ended is sent again") {
  for (const std::size_t flow : {0, 1}) {
    Pair pair(2, Confirmation::of_frames);
    pair.settle();
    const std::vector<std::byte> bytes(1000, std::byte{5});
    pair.a->send(1, bytes);
    pair.b->transport
        ->progress();  // It has taken the message, and confirmed it by some connection.
    CHECK(pair.a->events.sent_messages == 0);
    ::shutdown(pair.a->sockets_of_peer[flow], SHUT_RD);
    ::shutdown(pair.b->sockets_of_peer[flow], SHUT_RDWR);
    pair.settle();
    CHECK(pair.a->events.sent_messages == 1);
  }
}

TEST_CASE("the end of the last connection is that of the peer") {
  Pair pair(2, Confirmation::of_frames);
  pair.settle();
  exchange_while_they_end(pair, 5, {0});
  ::shutdown(pair.a->sockets_of_peer[1], SHUT_RDWR);
  pair.settle();
  CHECK(pair.a->events.loss() == "Connection reset by peer");
  CHECK(pair.b->events.loss() == "Connection reset by peer");
}

TEST_CASE("a message is sent once the peer has taken it, where frames are confirmed") {
  Pair pair(2, Confirmation::of_frames);
  pair.settle();
  const std::vector<std::byte> bytes(1000, std::byte{5});
  pair.a->send(1, bytes);
  while (pair.a->transport->progress()) {
  }
  CHECK(pair.a->events.sent_messages == 0);
  CHECK_FALSE(pair.a->transport->may_sleep());
  pair.settle();
  CHECK(pair.a->events.sent_messages == 1);
}

/// Ends connections, and moves on until both ends have requested others in their place.
void lose_connections(Pair& pair, std::initializer_list<std::size_t> ending) {
  const std::size_t wanted = pair.a->replacements.wanted.size() + ending.size();
  for (const std::size_t flow : ending)
    ::shutdown(pair.a->sockets_of_peer[flow], SHUT_RDWR);
  const Deadline deadline(std::chrono::seconds(20));
  while (!deadline.passed() && (pair.a->replacements.wanted.size() < wanted ||
                                pair.b->replacements.wanted.size() < wanted))
    pair.settle();
}

/// Sends a long message from one end to the other, and returns whether it came as it was.
bool comes_whole(End& from, End& to, Pair& pair, std::uint64_t tag) {
  const std::vector<std::byte> bytes(5 * kMebibyte + 3, static_cast<std::byte>(tag));
  std::vector<std::byte> got(bytes.size());
  const int before = to.events.received_messages;
  to.receive(tag, {.memory = got});
  from.send(tag, bytes);
  pair.settle();
  return to.events.received_messages == before + 1 && got == bytes;
}

TEST_CASE("a connection in place of one that has ended carries messages, even alone") {
  Pair pair(3, Confirmation::of_frames);
  pair.settle();
  lose_connections(pair, {1});
  CHECK(pair.a->replacements.wanted == std::vector{Rank{1}});
  CHECK(pair.b->replacements.wanted == std::vector{Rank{0}});
  auto [near, far] = test::socket_pair();
  pair.a->sockets_of_peer.push_back(near.get());
  pair.a->replacements.give({1}, std::move(near));
  pair.settle();  // The other end gets it later.
  pair.b->replacements.give({0}, std::move(far));
  pair.settle();
  CHECK(comes_whole(*pair.a, *pair.b, pair, 1));
  for (const std::size_t flow : {0, 2})
    ::shutdown(pair.a->sockets_of_peer[flow], SHUT_RDWR);
  pair.settle();
  CHECK(comes_whole(*pair.a, *pair.b, pair, 2));
  CHECK(comes_whole(*pair.b, *pair.a, pair, 3));
  CHECK(pair.a->events.loss() == "");
  CHECK(pair.b->events.loss() == "");
}

TEST_CASE("a connection may end again and again, each time with one in its place") {
  Pair pair(2, Confirmation::of_frames);
  pair.settle();
  std::size_t flow = 1;
  for (std::uint64_t round = 1; round <= 3; ++round) {
    lose_connections(pair, {flow});
    auto [near, far] = test::socket_pair();
    flow = pair.a->sockets_of_peer.size();
    pair.a->sockets_of_peer.push_back(near.get());
    pair.a->replacements.give({1}, std::move(near));
    pair.b->replacements.give({0}, std::move(far));
    pair.settle();
    CHECK(comes_whole(*pair.a, *pair.b, pair, round));
  }
  const auto links = pair.a->transport->links();
  REQUIRE(links.size() == 1);
  CHECK(links.front().failures == 3);
  CHECK(links.front().reconnects == 3);
  CHECK(links.front().connections == 2);
  CHECK(pair.a->transport->is_quiet());
  CHECK(pair.a->transport->may_sleep());
}

TEST_CASE("a failed network is reported once, and again when it is used again") {
  Pair pair(4, Confirmation::of_frames);
  pair.settle();
  lose_connections(pair, {0, 1});
  REQUIRE(pair.a->events.warnings.size() == 1);
  CHECK(pair.a->events.warnings.back().ends_with(
      "has failed on the way to rank 1 (Connection reset by peer): the others carry its share"));
  for (int i = 0; i < 2; ++i) {
    auto [near, far] = test::socket_pair();
    pair.a->replacements.give({1}, std::move(near));
    pair.b->replacements.give({0}, std::move(far));
  }
  pair.settle();
  REQUIRE(pair.a->events.warnings.size() == 2);
  CHECK(pair.a->events.warnings.back().ends_with("is used again on the way to rank 1"));
}

TEST_CASE("a new connection that ends before both sides know it loses nothing") {
  for (const bool is_given_to_both : {false, true}) {
    Pair pair(2, Confirmation::of_frames);
    pair.settle();
    lose_connections(pair, {1});
    auto [near, far] = test::socket_pair();
    if (is_given_to_both) {
      pair.a->replacements.give({1}, std::move(near));
      ::shutdown(far.get(), SHUT_RDWR);
      pair.b->replacements.give({0}, std::move(far));
    } else {
      pair.a->replacements.give({1}, std::move(near));
      pair.settle();
      far = UniqueFd();
    }
    pair.settle();
    CHECK(comes_whole(*pair.a, *pair.b, pair, 1));
    CHECK(comes_whole(*pair.b, *pair.a, pair, 2));
    CHECK(pair.a->transport->may_sleep());
    CHECK(pair.a->transport->links().front().connections == 1);
    CHECK(pair.a->events.loss() == "");
    CHECK(pair.b->events.loss() == "");
  }
}

/// Reads frames that the end has sent until one of that kind, which it returns.
std::optional<Frame> frame_of(TcpFrameKind kind, int socket) {
  EncodedFrame header{};
  while (::recv(socket, header.data(), header.size(), MSG_DONTWAIT) == std::ssize(header))
    if (const Frame frame = decode_frame(header); frame.kind == kind) return frame;
  return std::nullopt;
}

TEST_CASE("the peer learns what came by a connection whose number it could not send") {
  Stranger stranger(Confirmation::of_frames);
  stranger.send({.kind = TcpFrameKind::number, .offset = 0});
  auto [near, far] = test::socket_pair();
  stranger.end->replacements.give({1}, std::move(near));
  stranger.end->transport->progress();
  far = UniqueFd();
  stranger.end->transport->progress();
  CHECK(stranger.end->transport->retired_flows() == 1);
  CHECK_FALSE(frame_of(TcpFrameKind::retired, stranger.socket.get()));
  stranger.send({.kind = TcpFrameKind::retired, .tag = {7}, .offset = 2, .total = 1});
  const auto answer = frame_of(TcpFrameKind::retired, stranger.socket.get());
  REQUIRE(answer);
  CHECK(answer->offset == 7);
  CHECK(answer->tag.value == 2);
  CHECK(answer->total == 0);
  CHECK(stranger.end->events.loss() == "");
}

TEST_CASE("frames that came before the end of their connection are taken once") {
  Stranger stranger(Confirmation::of_frames);
  stranger.send({.kind = TcpFrameKind::number, .offset = 0});
  const EncodedFrame number = encode({.kind = TcpFrameKind::number, .offset = 1});
  const EncodedFrame bell = encode({.kind = TcpFrameKind::bell});
  for (const EncodedFrame& frame : {number, bell})
    REQUIRE(::send(stranger.second.get(), frame.data(), frame.size(), 0) == std::ssize(frame));
  stranger.second = UniqueFd();
  while (stranger.end->transport->retired_flows() == 0)
    stranger.end->transport->progress();
  const auto notice = frame_of(TcpFrameKind::retired, stranger.socket.get());
  REQUIRE(notice);
  CHECK(notice->offset == 1);
  CHECK(notice->total == 2);
}

TEST_CASE("what messages bring to each network is counted") {
  Pair pair(2);
  CHECK(comes_whole(*pair.a, *pair.b, pair, 1));
  const LinkCounters sent = pair.a->transport->links().front();
  const LinkCounters received = pair.b->transport->links().front();
  CHECK(sent.bytes_sent == 5 * kMebibyte + 3);
  CHECK(sent.frames_sent == 41);
  CHECK(sent.bytes_received == 0);
  CHECK(received.bytes_received == sent.bytes_sent);
  CHECK(received.frames_received == sent.frames_sent);
  CHECK(sent.failures == 0);
  CHECK(sent.connections == 2);
}

TEST_CASE("confirmations that cannot be end the connection") {
  const auto loss_of = [](const Frame& frame, Confirmation confirmation) {
    Stranger stranger(confirmation);
    stranger.send(frame);
    return stranger.end->events.loss();
  };
  const auto of_frames = Confirmation::of_frames;
  CHECK(loss_of({.kind = TcpFrameKind::taken, .offset = 0, .total = 1}, of_frames).empty());
  CHECK(loss_of({.kind = TcpFrameKind::taken, .offset = 0, .total = 2}, of_frames) ==
        "it took more frames than were sent");
  CHECK(loss_of({.kind = TcpFrameKind::taken, .offset = 2, .total = 0}, of_frames) ==
        "it named a connection that there is not");
  CHECK(loss_of({.kind = TcpFrameKind::retired, .offset = 1, .total = 0}, of_frames) ==
        "it gave up the last connection");
  CHECK(loss_of({.kind = TcpFrameKind::taken}, Confirmation::none) ==
        "it confirms frames, which this rank does not ask for");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
