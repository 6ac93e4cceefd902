// A peer that sends what no rank sends, or gives up.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/transports/abort_reason.hpp"
#include "comm/transports/tcp_frame.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::failure_of;
using test::mentions;

/// Rank 0 of two, over a socket; the other end of it plays rank 1.
struct Impostor {
  Impostor() {
    auto connections = test::sockets_in_process(2, 2s);
    end = std::move(connections[1].sockets[0].front());
    connections[0].topology = filled_nodes(2, 1);
    victim.emplace(std::move(connections[0]));
  }

  void send(std::span<const std::byte> bytes) const {
    ::send(end.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void send(const Frame& frame) const { send(encode(frame)); }
  void send_abort(ErrorKind kind, std::string_view text) const {
    const auto words = abort_reason(Error(kind, std::string(text)), std::nullopt);
    send(Frame{.kind = TcpFrameKind::abort, .length = static_cast<std::uint32_t>(words.size())});
    send(words);
  }

  /// Returns the failure of rank 0 in an all-reduce of `bytes` bytes.
  Error failure(std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    return failure_of([&] {
      victim->all_reduce(std::span(data), {ElementType::float32, ReduceOp::sum});
    });
  }

  UniqueFd end;
  std::optional<Communicator> victim;
};

TEST_SUITE_BEGIN("comm/faults");

TEST_CASE("random bytes from a peer end the call with its name") {
  std::mt19937 random(7);
  for (int i = 0; i < 20; ++i) {
    Impostor impostor;
    std::vector<std::byte> noise(random() % 5000 + kFrameBytes);
    for (std::byte& byte : noise)
      byte = static_cast<std::byte>(random());
    impostor.send(noise);
    const Error e = impostor.failure(400'000);
    CHECK(e.kind() == ErrorKind::remote);
    CHECK(mentions(e, "rank 1: it sent what no rank of this version sends"));
  }
}

TEST_CASE("frames that nobody asked for, or that do not fit, end the call with the peer's name") {
  const std::uint64_t huge = std::uint64_t{1} << 60;
  const Frame frames[] = {
      {.kind = TcpFrameKind::chunk, .tag = {5}, .length = 16, .offset = 0, .total = huge},
      {.kind = TcpFrameKind::chunk, .tag = {0}, .length = 16, .offset = huge, .total = huge + 16},
      {.kind = TcpFrameKind::chunk, .tag = {0}, .length = 16, .offset = 0, .total = 24},
      {.kind = TcpFrameKind::chunk, .tag = {0}, .length = 16, .offset = 32, .total = 24},
      {.kind = TcpFrameKind::chunk, .tag = {0}, .length = kMostChunkBytes + 1, .total = 2 << 20},
      {.kind = TcpFrameKind::note, .tag = {0}, .length = 7},
      {.kind = TcpFrameKind::abort, .tag = {0}, .length = 1 << 30},
  };
  for (const Frame& frame : frames) {
    Impostor impostor;
    impostor.send(frame);
    impostor.send(std::vector<std::byte>(64));
    const Error e = impostor.failure(4000);
    CHECK(e.kind() == ErrorKind::remote);
    CHECK(mentions(e, "rank 1"));
  }
}

TEST_CASE("a farewell is passed on as what it is") {
  Impostor impostor;
  impostor.send_abort(ErrorKind::usage, "rank 7 is in another call\x1b[2J");
  const Error e = impostor.failure(4000);
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(mentions(e, "rank 7 is in another call"));
  CHECK(mentions(e, "(rank 1 says so)"));
  CHECK_FALSE(mentions(e, "\x1b"));
}

TEST_CASE("what a rank said when it gave up is heard before it is missed as a receiver") {
  constexpr std::size_t kBytes = 400'000;  // In two halves: what comes of the first is sent back.
  Impostor impostor;
  const std::vector<std::byte> half(kBytes / 2);
  for (std::size_t sent = 0; sent < half.size();) {
    const std::size_t size = std::min(half.size() - sent, kChunkBytes);
    impostor.send(Frame{.kind = TcpFrameKind::chunk,
                        .tag = {0},
                        .length = static_cast<std::uint32_t>(size),
                        .offset = sent,
                        .total = half.size()});
    impostor.send(std::span(half).subspan(sent, size));
    sent += size;
  }
  impostor.send_abort(ErrorKind::remote, "rank 7: Connection reset by peer");
  impostor.end = {};
  const Error e = impostor.failure(kBytes);
  INFO("failure: ", std::string(e.what()));
  CHECK(mentions(e, "rank 7: Connection reset by peer (rank 1 says so)"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
