// Streams of short messages: what TCP joins, and what stays in a connection until it is wanted.
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "comm/rendezvous/endpoint.hpp"
#include "comm/transports/one_way_stream.hpp"
#include "comm/transports/tcp_flow.hpp"
#include "comm/transports/tcp_pair.hpp"
#include "support/connect_in_process.hpp"

namespace fastgpu::comm {
namespace {

using test::TcpPair;

/// The frames that leave before TCP may join others.
constexpr int kFirstFrames = 33;

/// The turns after which nothing is left to further calls.
constexpr int kFewTurns = 10;

/// Takes all frames.
struct Frames final : FrameEvents {
  bool may_read() const noexcept override { return true; }
  bool may_stay(const Frame&) override { return false; }
  std::span<std::byte> target_of(const Frame&) override { return {}; }
  void arrived(const Frame& frame, std::span<const std::byte>) override { all.push_back(frame); }

  std::vector<Frame> all;
};

/// Both ends of a connection by TCP, as ranks make it.
struct Ends {
  explicit Ends(std::pair<UniqueFd, UniqueFd> sockets = prepared())
      : near(std::move(sockets.first), link), far(std::move(sockets.second), link) {}

  static std::pair<UniqueFd, UniqueFd> prepared() {
    auto sockets = test::tcp_pair();
    prepare_connection(sockets.first.get());
    prepare_connection(sockets.second.get());
    return sockets;
  }

  LinkCounters link{};
  TcpFlow near;
  TcpFlow far;
};

void send(TcpFlow& flow, std::size_t length, TcpFrameKind kind = TcpFrameKind::chunk) {
  static const std::vector<std::byte> kBytes(1 << 20);
  const bool is_chunk = kind == TcpFrameKind::chunk;
  flow.begin(
      {.kind = kind, .length = static_cast<std::uint32_t>(length), .total = is_chunk ? length : 0},
      std::span(kBytes).first(length), nullptr);
  flow.write();
}

int option_of(const TcpFlow& flow, int option) {
  int value = 0;
  socklen_t size = sizeof(value);
  REQUIRE(::getsockopt(flow.socket(), IPPROTO_TCP, option, &value, &size) == 0);
  return value;
}

/// Returns whether TCP holds short frames back while one is not acknowledged.
bool holds_back(const TcpFlow& flow) {
  return option_of(flow, TCP_NODELAY) == 0;
}

/// Returns whether TCP waits for an answer, by which it would acknowledge what has come.
bool acknowledges_late(const TcpFlow& flow) {
  return option_of(flow, TCP_QUICKACK) == 0;
}

/// Reads so many frames; returns false if they do not come.
bool read(TcpFlow& flow, Frames& frames, std::size_t wanted) {
  for (int i = 0; i < 100'000 && frames.all.size() < wanted; ++i)
    flow.read(frames);
  return frames.all.size() == wanted;
}

TEST_SUITE_BEGIN("comm/tcp_streams");

TEST_CASE("a stream begins after many short frames in a row, and ends with a long or another one") {
  OneWayStream stream;
  const auto begin_many = [&] {
    for (int i = 0; i < 100; ++i)
      stream.begin_frame(true);
  };
  begin_many();
  CHECK(stream.has_begun());
  CHECK(stream.may_wait());
  SUBCASE("a long frame") {
    stream.begin_frame(false);
  }
  SUBCASE("an answer") {
    stream.received();
  }
  CHECK(!stream.has_begun());
  stream.begin_frame(true);
  CHECK(!stream.has_begun());
  begin_many();
  CHECK(stream.may_wait());
}

TEST_CASE("the first frame that is to be acknowledged at once does not wait itself") {
  OneWayStream stream;
  while (!stream.has_begun())
    stream.begin_frame(true);
  CHECK(!stream.may_wait());
  stream.begin_frame(true);
  CHECK(stream.may_wait());
}

TEST_CASE("in a stream of short frames TCP joins those that come before an acknowledgement") {
  Ends ends;
  for (int i = 0; i < kFirstFrames; ++i) {
    send(ends.near, 8);
    CHECK(!holds_back(ends.near));
  }
  std::size_t sent = kFirstFrames;
  for (; sent < 1000; ++sent) {
    send(ends.near, 8);
    CHECK(holds_back(ends.near));
  }
  Frames frames;
  CHECK(read(ends.far, frames, sent));
  for (std::size_t i = 0; i < sent; ++i)
    CHECK(frames.all[i].wants_acknowledgement == (i + 1 >= kFirstFrames));
}

TEST_CASE("what is held back is acknowledged as it is read, even after questions and answers") {
  Ends ends;
  Frames at_near;
  Frames at_far;
  std::size_t talks = 0;
  while (!acknowledges_late(ends.far)) {
    REQUIRE(++talks < 1000);
    send(ends.near, 8);
    REQUIRE(read(ends.far, at_far, talks));
    send(ends.far, 8);
    REQUIRE(read(ends.near, at_near, talks));
  }
  for (int i = 0; i < kFirstFrames; ++i)
    send(ends.near, 8);
  REQUIRE(read(ends.far, at_far, talks + kFirstFrames));
  CHECK(!acknowledges_late(ends.far));
}

TEST_CASE("nothing is held back behind a long frame, a notice, or an answer") {
  Ends ends;
  std::size_t sent = 0;
  for (; sent < 1000; ++sent)
    send(ends.near, 8);
  Frames at_near;
  Frames at_far;
  SUBCASE("a long frame") {
    send(ends.near, 4097);
  }
  SUBCASE("a notice") {
    send(ends.near, 0, TcpFrameKind::bell);
  }
  SUBCASE("an answer") {
    send(ends.far, 8);
    REQUIRE(read(ends.near, at_near, 1));
    --sent;
  }
  CHECK(!holds_back(ends.near));
  CHECK(read(ends.far, at_far, sent + 1));
  send(ends.near, 8);
  CHECK(!holds_back(ends.near));
}

TEST_CASE("messages that a call has read ahead are there for the next ones, and none sleeps over") {
  TcpPair pair(1);
  const std::vector<std::byte> bytes(100, std::byte{7});
  constexpr std::uint64_t kMessages = 20;
  for (std::uint64_t tag = 1; tag <= kMessages; ++tag)
    pair.a->send(tag, bytes);
  Transport& receiver = *pair.b->transport;
  std::vector<std::byte> taken(bytes.size());
  const auto take = [&](std::uint64_t tag) {
    std::ranges::fill(taken, std::byte{});
    Incoming wanted{.peer = {0}, .tag = {tag}, .sink = {.memory = taken}};
    return receiver.receive_now(wanted) && taken == bytes;
  };
  CHECK(take(1));
  CHECK(take(2));
  CHECK(!receiver.may_sleep());
  receiver.woke();
  CHECK(!receiver.is_quiet());
  SUBCASE("the next call takes the next one") {
    for (std::uint64_t tag = 3; tag <= kMessages; ++tag)
      CHECK(take(tag));
  }
  SUBCASE("a call for a later one leaves those before it") {
    CHECK(take(kMessages));
    for (std::uint64_t tag = 3; tag < kMessages; ++tag)
      CHECK(take(tag));
  }
  SUBCASE("a receive gets it in the next turn, though no socket is readable") {
    pair.b->receive(10, {.memory = taken});
    CHECK(receiver.progress());
    CHECK(pair.b->events.received_messages == 1);
    for (const std::uint64_t tag : {3, 9, 11, 20})
      CHECK(take(tag));
  }
  SUBCASE("the end of the peer takes none away") {
    pair.a.reset();
    for (std::uint64_t tag = 3; tag <= kMessages; ++tag)
      CHECK(take(tag));
  }
  for (int turn = 0; turn < kFewTurns; ++turn)
    receiver.progress();
  CHECK(receiver.is_quiet());
  CHECK(receiver.may_sleep());
  receiver.woke();
}

TEST_CASE(
    "what a call has left, and what has come since, is heard of after few turns without one") {
  TcpPair pair(1);
  const std::vector<std::byte> bytes(100, std::byte{7});
  for (const std::uint64_t tag : {1, 2, 3})
    pair.a->send(tag, bytes);
  std::vector<std::byte> taken(bytes.size());
  Incoming first{.peer = {0}, .tag = {1}, .sink = {.memory = taken}};
  REQUIRE(pair.b->transport->receive_now(first));
  const std::vector<std::byte> question(kQuestionBytes);
  pair.a->transport->ask(pair.a->peer, question);
  CHECK(!pair.b->transport->progress());
  CHECK(pair.b->events.questions == 0);
  for (int turn = 0; turn < kFewTurns; ++turn)
    pair.b->transport->progress();
  CHECK(pair.b->events.questions == 1);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
