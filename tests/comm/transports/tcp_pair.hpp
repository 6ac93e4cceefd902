// Two ranks whose messages go by connections, and a rank whose peer is the test.
#pragma once

#include <doctest/doctest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/transports/tcp_transport.hpp"
#include "support/connect_in_process.hpp"
#include "support/transport_reports.hpp"

namespace fastgpu::test {

constexpr std::size_t kMebibyte = 1 << 20;

/// Connections that a test makes anew.
class GivenReplacements final : public comm::Reconnector {
 public:
  /// The state that the test shares with the transport, which owns the reconnector.
  struct Requests {
    UniqueFd bell{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    std::vector<comm::Rank> wanted{};
    std::vector<Made> made{};

    void give(comm::Rank peer, UniqueFd socket) {
      made.push_back({peer, std::move(socket)});
      const std::uint64_t ring = 1;
      REQUIRE(::write(bell.get(), &ring, sizeof(ring)) == sizeof(ring));
    }
  };

  explicit GivenReplacements(Requests& requests) : requests_(requests) {}

  void replace(comm::Rank peer, const std::string&) override { requests_.wanted.push_back(peer); }
  void forget(comm::Rank peer) override { std::erase(requests_.wanted, peer); }
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
struct TcpEnd {
  TcpEnd(int other, std::vector<UniqueFd> flows, comm::Confirmation confirmation) : peer{other} {
    for (const UniqueFd& flow : flows)
      sockets_of_peer.push_back(flow.get());
    std::vector<std::vector<UniqueFd>> sockets(2);
    sockets[static_cast<std::size_t>(other)] = std::move(flows);
    transport.emplace(std::move(sockets), events, events, confirmation);
    if (confirmation == comm::Confirmation::of_frames)
      transport->use(std::make_unique<GivenReplacements>(replacements));
  }

  void send(std::uint64_t tag, std::span<const std::byte> bytes, std::int32_t priority = 0) {
    outgoing.push_back({.peer = peer, .tag = {tag}, .bytes = bytes, .priority = priority});
    transport->send(outgoing.back());
  }
  void receive(std::uint64_t tag, const comm::MessageSink& sink) {
    incoming.push_back({.peer = peer, .tag = {tag}, .sink = sink});
    transport->receive(incoming.back());
  }

  comm::Rank peer;
  std::vector<int> sockets_of_peer;
  TransportReports events;
  std::deque<comm::Outgoing> outgoing;
  std::deque<comm::Incoming> incoming;
  GivenReplacements::Requests replacements;
  std::optional<comm::TcpTransport> transport;
};

/// Two ranks with so many connections between them.
struct TcpPair {
  explicit TcpPair(int flows, comm::Confirmation confirmation = comm::Confirmation::none) {
    std::vector<UniqueFd> of_a;
    std::vector<UniqueFd> of_b;
    for (int i = 0; i < flows; ++i) {
      auto [near, far] = socket_pair();
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

  std::optional<TcpEnd> a;
  std::optional<TcpEnd> b;
};

/// Returns 1, 2, 3 and so on.
inline std::vector<float> tcp_numbers(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

/// The other side of one connection, which says what no rank does.
struct TcpStranger {
  void send(const comm::Frame& frame) {
    send_raw(comm::encode(frame));
    send_raw(std::vector(frame.length, std::byte{9}));
  }

  /// Sends bytes, and lets the rank read them.
  void send_raw(std::span<const std::byte> bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      const auto sent = ::send(socket.get(), bytes.data() + at, bytes.size() - at, MSG_DONTWAIT);
      if (sent > 0) at += static_cast<std::size_t>(sent);
      while (end->transport->progress()) {
      }
    }
    while (end->transport->progress()) {
    }
  }

  explicit TcpStranger(comm::Confirmation confirmation = comm::Confirmation::none) {
    auto [near, far] = socket_pair();
    auto [second_near, second_far] = socket_pair();
    std::vector<UniqueFd> flows;
    flows.push_back(std::move(near));
    if (confirmation == comm::Confirmation::of_frames) flows.push_back(std::move(second_near));
    end.emplace(1, std::move(flows), confirmation);
    socket = std::move(far);
    second = std::move(second_far);
  }

  std::optional<TcpEnd> end;
  UniqueFd socket;
  UniqueFd second;
};

/// Sends a long message from one end to the other, and returns whether it came as it was.
inline bool comes_whole(TcpEnd& from, TcpEnd& to, TcpPair& pair, std::uint64_t tag) {
  const std::vector<std::byte> bytes(5 * kMebibyte + 3, static_cast<std::byte>(tag));
  std::vector<std::byte> got(bytes.size());
  const int before = to.events.received_messages;
  to.receive(tag, {.memory = got});
  from.send(tag, bytes);
  pair.settle();
  return to.events.received_messages == before + 1 && got == bytes;
}

}  // namespace fastgpu::test
