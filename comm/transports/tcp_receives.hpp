// The messages that this rank expects from a peer, and the places of the bytes that come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "comm/transports/tag_table.hpp"
#include "comm/transports/tcp_arrivals.hpp"
#include "comm/transports/tcp_frame.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

/// Functions that take bytes throw ErrorKind::remote where these are not what was asked for.
class TcpReceives {
 public:
  TcpReceives(TransportEvents& events, UnaskedBytes& unasked)
      : events_(events), arrivals_(unasked) {}

  /// Expects a message, whose first bytes may be here.
  void receive(Incoming& message);
  /// Receives a message that has arrived before. Returns false if a part of it has not arrived.
  bool take_now(Incoming& message);
  /// Receives this short message if it comes before `has_come_now`.
  void expect_now(Incoming& message) noexcept { now_ = &message; }
  /// Returns true if it has come, and expects it no longer.
  bool has_come_now() noexcept { return std::exchange(now_, nullptr) == nullptr; }

  bool expects(MessageTag tag) noexcept { return incoming_.find(tag) != nullptr; }
  bool has_expected() const noexcept { return incoming_.size() > 0; }
  bool is_awaited() const noexcept { return has_expected() || now_ != nullptr; }

  /// Returns the place of a chunk that is about to be read, empty if it has none.
  std::span<std::byte> target_of(const Frame& chunk);
  /// Takes the bytes of a chunk, which may be in their place already.
  void arrived(const Frame& chunk, std::span<const std::byte> bytes);
  /// A chunk, which had been given its place, comes once more by another connection.
  void comes_again(const Frame& chunk) noexcept;

  /// Expects nothing more. What has come may still be asked for.
  void close() noexcept;
  /// Forgets what is expected and what has come.
  void clear();

 private:
  struct Expected {
    Incoming* message = nullptr;
    std::size_t promised = 0;  ///< Bytes whose place in the sink has been given to a connection.
  };

  static void check(const Incoming& message, const Frame& frame);
  static void promise(Expected& expected, const Frame& frame);
  static void take(Incoming& message, const TcpArrival::Chunk& chunk, const TcpArrival& arrival);
  void count(Incoming& message, std::size_t bytes);
  bool is_for_now(const Frame& frame) noexcept;

  TransportEvents& events_;
  bool is_closed_ = false;
  TagTable<Expected> incoming_;
  Incoming* now_ = nullptr;  ///< A message that is received within a call, if it comes.
  TcpArrivals arrivals_;
};

}  // namespace fastgpu::comm
