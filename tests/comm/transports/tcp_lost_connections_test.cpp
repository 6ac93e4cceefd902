// Connections between two ranks that end: their messages go by the others, and others come in their
// place.
#include "comm/transports/tcp_transport.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "comm/common/deadline.hpp"
#include "comm/transports/tcp_pair.hpp"
#include "support/connect_in_process.hpp"

namespace fastgpu::comm {
namespace {

using test::comes_whole;
using test::kMebibyte;
using test::tcp_numbers;
using test::TcpEnd;
using test::TcpPair;
using test::TcpStranger;

TEST_SUITE_BEGIN("comm/tcp_transport");

/// Sends a message each way, reduced at one end, and ends connections of `pair` after so many
/// turns.
void exchange_while_they_end(TcpPair& pair, int turns, const std::vector<std::size_t>& ending) {
  const auto values = tcp_numbers(1'000'003);
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
  for (TcpEnd* const end : {&*pair.a, &*pair.b}) {
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
    TcpPair pair(3, Confirmation::of_frames);
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
      TcpPair pair(4, Confirmation::of_frames);
      pair.settle();
      exchange_while_they_end(pair, turns, ending);
    }
}

TEST_CASE("messages go on after a connection has ended") {
  TcpPair pair(2, Confirmation::of_frames);
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
    TcpPair pair(2, Confirmation::of_frames);
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
  TcpPair pair(2, Confirmation::of_frames);
  pair.settle();
  exchange_while_they_end(pair, 5, {0});
  ::shutdown(pair.a->sockets_of_peer[1], SHUT_RDWR);
  pair.settle();
  CHECK(pair.a->events.loss() == "Connection reset by peer");
  CHECK(pair.b->events.loss() == "Connection reset by peer");
}

TEST_CASE("a message is sent once the peer has taken it, where frames are confirmed") {
  TcpPair pair(2, Confirmation::of_frames);
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
void lose_connections(TcpPair& pair, std::initializer_list<std::size_t> ending) {
  const std::size_t wanted = pair.a->replacements.wanted.size() + ending.size();
  for (const std::size_t flow : ending)
    ::shutdown(pair.a->sockets_of_peer[flow], SHUT_RDWR);
  const Deadline deadline(std::chrono::seconds(20));
  while (!deadline.passed() && (pair.a->replacements.wanted.size() < wanted ||
                                pair.b->replacements.wanted.size() < wanted))
    pair.settle();
}

TEST_CASE("a connection in place of one that has ended carries messages, even alone") {
  TcpPair pair(3, Confirmation::of_frames);
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
  TcpPair pair(2, Confirmation::of_frames);
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
  TcpPair pair(4, Confirmation::of_frames);
  pair.settle();
  lose_connections(pair, {0, 1});
  REQUIRE(pair.a->events.warnings.size() == 1);
  CHECK(pair.a->events.warnings.back().ends_with(
      "has failed on the way to rank 1 (Connection reset by peer): its other connections carry the "
      "messages, and no other network is left"));
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
    TcpPair pair(2, Confirmation::of_frames);
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
  TcpStranger stranger(Confirmation::of_frames);
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
  TcpStranger stranger(Confirmation::of_frames);
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

TEST_CASE("confirmations that cannot be end the connection") {
  const auto loss_of = [](const Frame& frame, Confirmation confirmation) {
    TcpStranger stranger(confirmation);
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
