// What has come from a peer before a receive asked for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/transports/tag_table.hpp"
#include "comm/transports/tcp_frame.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

/// The part of a message that came before a receive asked for it.
struct TcpArrival {
  struct Chunk {
    std::uint64_t offset = 0;
    std::vector<std::byte> bytes{};
  };

  MessageTag tag{};         ///< The tag that the peer has given it.
  std::uint64_t total = 0;  ///< Bytes of the whole message.
  std::size_t here = 0;     ///< Bytes of the chunks.
  std::vector<Chunk> chunks{};
};

/// The messages of one peer that came before a receive asked for them, in whole or in part.
class TcpArrivals {
 public:
  /// Borrows the count of what all peers have sent so.
  explicit TcpArrivals(UnaskedBytes& unasked) noexcept : unasked_(unasked) {}
  TcpArrivals(const TcpArrivals&) = delete;
  TcpArrivals& operator=(const TcpArrivals&) = delete;

  bool has(MessageTag tag) noexcept { return arrivals_.find(tag) != nullptr; }
  /// Returns whether all of the message is here.
  bool has_whole(MessageTag tag) noexcept;

  /// Keeps a copy of a chunk. Throws ErrorKind::remote for bytes that were sent twice.
  void keep(const Frame& chunk, std::span<const std::byte> bytes);

  /// Takes what is here of a message; nothing before its first part.
  TcpArrival take(MessageTag tag);

  void clear() noexcept;

 private:
  UnaskedBytes& unasked_;
  TagTable<TcpArrival> arrivals_;
  std::size_t bytes_ = 0;  ///< What these count in `unasked_`.
};

}  // namespace fastgpu::comm
