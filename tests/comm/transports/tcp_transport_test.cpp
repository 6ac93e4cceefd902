// Long messages over connections: how far ahead of their receiver they go.
#include "comm/transports/tcp_transport.hpp"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "comm/transports/frame_log.hpp"
#include "comm/transports/tcp_flow.hpp"
#include "comm/transports/tcp_notices.hpp"
#include "comm/transports/tcp_pair.hpp"

namespace fastgpu::comm {
namespace {

using test::comes_whole;
using test::kMebibyte;
using test::tcp_numbers;
using test::TcpPair;
using test::TcpStranger;

TEST_SUITE_BEGIN("comm/tcp_transport");

TEST_CASE("a long message goes ahead, and is reduced once it is asked for") {
  TcpPair pair(3);
  const auto values = tcp_numbers(400'001);
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
  TcpPair pair(1);
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

TEST_CASE("many short messages are read at once") {
  TcpPair pair(1);
  const std::vector<std::byte> bytes(512, std::byte{7});
  constexpr std::uint64_t kMessages = 50;
  for (std::uint64_t tag = 1; tag <= kMessages; ++tag)
    pair.a->send(tag, bytes);
  std::vector<std::byte> taken(bytes.size());
  const auto take = [&](std::uint64_t tag) {
    std::ranges::fill(taken, std::byte{});
    Incoming wanted{.peer = {0}, .tag = {tag}, .sink = {.memory = taken}};
    return pair.b->transport->receive_now(wanted) && taken == bytes;
  };
  CHECK(take(1));  // It is the first chunk: only then is it known that they are short.
  CHECK(take(9));
  const int connection = pair.b->sockets_of_peer.front();
  pollfd ready{connection, POLLIN, 0};
  CHECK(::poll(&ready, 1, 0) == 0);  // All have been read.
  for (std::uint64_t tag = 2; tag <= kMessages; ++tag)
    CHECK((tag == 9 || take(tag)));
}

TEST_CASE("messages of all lengths arrive whole, whatever has been read ahead of them") {
  TcpPair pair(1);
  const std::vector<std::size_t> lengths = {512,    4096, 5000, 512,  20'000, 40'000, 512, 512,
                                            60'000, 8,    4097, 4096, 33'000, 100,    0,   32'768};
  std::vector<std::vector<std::byte>> sent;
  std::vector<std::vector<std::byte>> taken;
  for (const std::size_t length : lengths) {
    sent.emplace_back(length, static_cast<std::byte>(sent.size() + 1));
    taken.emplace_back(length);
    pair.a->send(sent.size(), sent.back());
  }
  SUBCASE("each is asked for while the one before is there") {
    for (std::size_t i = 0; i < sent.size(); ++i) {
      pair.b->transport->progress();
      pair.b->receive(i + 1, {.memory = taken[i]});
      while (pair.b->events.received_messages <= static_cast<int>(i))
        pair.b->transport->progress();
    }
  }
  SUBCASE("the last is asked for first") {
    for (std::size_t i = sent.size(); i-- > 0;) {
      pair.b->receive(i + 1, {.memory = taken[i]});
      pair.settle();
    }
  }
  CHECK(taken == sent);
}

TEST_CASE("a short message is sent and taken within calls, with its note and without a report") {
  TcpPair pair(2);
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
  TcpPair pair(1);
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
  TcpPair pair(1);
  const std::vector<std::byte> much(kMostAhead);
  pair.a->send(1, much);
  Outgoing message{.peer = {1}, .tag = {2}, .bytes = std::span(much).first(8)};
  CHECK_FALSE(pair.a->transport->send_now(message));
}

TEST_CASE("a message of another length than that of a receive within a call ends the connection") {
  TcpPair pair(1);
  const std::vector<std::byte> bytes(100);
  Outgoing message{.peer = {1}, .tag = {1}, .bytes = bytes};
  REQUIRE(pair.a->transport->send_now(message));
  std::vector<std::byte> shorter(99);
  Incoming wanted{.peer = {0}, .tag = {1}, .sink = {.memory = shorter}};
  CHECK_FALSE(pair.b->transport->receive_now(wanted));
  CHECK(pair.b->events.loss() == "it sent 100 bytes where 99 were expected");
}

TEST_CASE("what is abandoned when half of it is sent is sent as it was") {
  for (const std::size_t bytes : {4 * kMebibyte, 60 * std::size_t{1000}}) {
    TcpPair pair(1);
    const std::vector<std::byte> was(bytes, std::byte{7});
    std::vector<std::byte> sent = was;
    std::vector<std::byte> taken(bytes);
    // The connection gets full, so that a part of one message is sent and the rest of it is not.
    for (std::uint64_t tag = 1; tag <= 40; ++tag)
      pair.a->send(tag, sent);
    while (pair.a->transport->progress()) {
    }
    pair.a->transport->abandon();
    std::ranges::fill(sent, std::byte{0xEE});  // It is the caller's again.
    for (std::uint64_t tag = 1; tag <= 40; ++tag)
      pair.b->receive(tag, {.memory = taken});
    const auto is_sent_as_it_was = [&] {
      return std::ranges::find(taken, std::byte{0xEE}) == taken.end();
    };
    for (int turn = 0; turn < 1000; ++turn) {
      pair.a->transport->progress();
      pair.b->transport->progress();
      REQUIRE(is_sent_as_it_was());
    }
  }
}

TEST_CASE("memory that is abandoned when half of a message is there is left alone") {
  for (const std::uint32_t bytes : {50'000U, 300'000U, std::uint32_t{kMebibyte}}) {
    TcpStranger stranger;
    std::vector<std::byte> taken(bytes);
    stranger.end->receive(1, {.memory = taken});
    const std::uint32_t half = bytes / 2 + 1;
    stranger.send_raw(encode(
        {.kind = TcpFrameKind::chunk, .tag = {1}, .length = bytes, .offset = 0, .total = bytes}));
    stranger.send_raw(std::vector(half, std::byte{7}));
    REQUIRE(taken[half - 1] == std::byte{7});
    stranger.end->transport->abandon();
    std::ranges::fill(taken, std::byte{0xEE});  // It is the caller's again.
    stranger.send_raw(std::vector(bytes - half, std::byte{7}));
    CHECK(std::ranges::count(taken, std::byte{0xEE}) == std::ssize(taken));
    // The frames after it are read as ever.
    std::vector<std::byte> next(100);
    stranger.end->receive(2, {.memory = next});
    stranger.send({.kind = TcpFrameKind::chunk, .tag = {2}, .length = 100, .total = 100});
    // A message without a receive stays unread for a while.
    for (int turn = 0; turn < 1000; ++turn)
      stranger.end->transport->progress();
    CHECK(stranger.end->events.received_messages == 1);
  }
}

TEST_CASE("a rank that is refused is told why, beside the end of its connections") {
  for (const int flows : {1, 3}) {
    CAPTURE(flows);
    TcpPair pair(flows);
    const std::vector<std::byte> bytes(100);
    std::vector<std::byte> shorter(99);
    pair.b->receive(1, {.memory = shorter});
    pair.a->send(1, bytes);
    pair.settle();
    CHECK(pair.b->events.loss() == "it sent 100 bytes where 99 were expected");
    CHECK(pair.a->events.abort_text() == "rank 0: it sent 100 bytes where 99 were expected");
  }
}

TEST_CASE("a rank that leaves says so, and its end is no fault of the network") {
  for (const int flows : {1, 3}) {
    CAPTURE(flows);
    TcpPair pair(flows);
    const std::vector<std::byte> bytes(100);
    pair.a->send(1, bytes);  // It is not read any more.
    pair.b->transport.reset();
    while (pair.a->events.loss().empty())
      pair.a->transport->progress();
    CHECK(pair.a->events.loss() == "it has left the job");
  }
}

TEST_CASE("where frames are confirmed, none is sent within a call") {
  TcpPair pair(2, Confirmation::of_frames);
  CHECK(pair.a->transport->capabilities().most_now == 0);
}

TEST_CASE("of what nobody asks for only so much goes ahead") {
  TcpPair pair(2);
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
  TcpPair pair(1);
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

TEST_CASE("questions on their way leave a connection quiet, and what a message needs does not") {
  auto [near, far] = test::tcp_pair();
  LinkCounters link;
  TcpFlow flow(std::move(near), link);
  const auto is_quiet_soon = [&] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!flow.is_quiet() && std::chrono::steady_clock::now() < end)
      ::poll(nullptr, 0, 1);
    return flow.is_quiet();
  };
  CHECK(flow.is_quiet());
  const std::array<std::byte, kQuestionBytes> question{};
  for (const TcpFrameKind kind : {TcpFrameKind::question, TcpFrameKind::answer}) {
    flow.begin_copy({.kind = kind, .length = kQuestionBytes}, question);
    CHECK(flow.is_quiet());
    REQUIRE(flow.write());
    CHECK(flow.is_quiet());
  }
  flow.begin_copy({.kind = TcpFrameKind::wanted}, {});
  flow.begin_copy({.kind = TcpFrameKind::bell}, {});
  CHECK_FALSE(flow.is_quiet());
  REQUIRE(flow.write());
  CHECK(is_quiet_soon());  // It has arrived at the other kernel, though it was not read.
}

TEST_CASE("notices and logs are quiet if they hold nothing that a message needs") {
  TcpNotices notices;
  CHECK(notices.is_quiet());
  notices.add_latest(TcpFrameKind::question, {});
  notices.add_latest(TcpFrameKind::bell, {});
  CHECK(notices.is_quiet());
  notices.add_wanted({1});
  CHECK_FALSE(notices.is_quiet());
  FrameLog log;
  log.sent({.frame = {.kind = TcpFrameKind::answer}});
  CHECK(log.has_unconfirmed());
  CHECK_FALSE(log.has_unconfirmed_message());
  log.sent({.frame = {.kind = TcpFrameKind::note}});
  CHECK(log.has_unconfirmed_message());
}

TEST_CASE("what is waited for comes through behind what is not") {
  TcpPair pair(2);
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
  TcpPair pair(1);
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
  TcpPair pair(1);
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

Frame chunk(std::uint64_t offset, std::uint64_t total) {
  return {.kind = TcpFrameKind::chunk,
          .tag = {1},
          .length = static_cast<std::uint32_t>(kChunkBytes),
          .offset = offset,
          .total = total};
}

TEST_CASE("a message that is asked for when half of it is there is completed") {
  TcpStranger stranger;
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
  TcpStranger stranger;
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
  TcpStranger stranger;
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
    TcpStranger stranger;
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

TEST_CASE("what messages bring to each network is counted") {
  TcpPair pair(2);
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

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
