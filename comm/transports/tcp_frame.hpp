// What travels over a connection between two ranks: frames of a fixed header and some bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/transports/control_channel.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

enum class TcpFrameKind : std::uint8_t {
  chunk,     ///< Bytes of a message, from `offset` on, of `total`.
  wanted,    ///< The receiver of the message waits for it: a long one may come now.
  note,      ///< The note of a message.
  bell,      ///< A reason to wake up, without content.
  question,  ///< The message that the receiver waits for; the question's number.
  answer,    ///< The message that the sender waits for.
  abort,     ///< Why the sender gives up the job.
  farewell,  ///< The sender leaves the job, and sends nothing more.
  // Frames about connections that may be given up (see TcpPeer). `offset` is a connection's number:
  // the sender's own in `number`, the receiver's in the others.
  number,   ///< The sender's number of the connection that carries this.
  taken,    ///< `total` frames of that connection have come.
  retired,  ///< The sender reads that connection no more, of which `total` frames have come;
            ///< `tag` is the sender's own number of it.
  card      ///< The sender's card for the network `tag`, in the attempt `offset` to use it again;
            ///< `total` is the CardKind.
};

/// Returns true for frames by which ranks find out what others wait for. Whoever waits for a
/// message does not go on because of them.
constexpr bool is_about_waits(TcpFrameKind kind) noexcept {
  return kind == TcpFrameKind::bell || kind == TcpFrameKind::question ||
         kind == TcpFrameKind::answer;
}

struct Frame {
  TcpFrameKind kind = TcpFrameKind::bell;
  MessageTag tag{};
  std::uint32_t length = 0;  ///< Bytes that follow.
  std::uint64_t offset = 0;
  std::uint64_t total = 0;
  /// True if TCP may hold further frames back until this one is acknowledged.
  bool wants_acknowledgement = false;
};

/// The purpose of a card. An empty answer is a refusal.
enum class CardKind : std::uint8_t { proposal, answer };
constexpr std::size_t kMostCardBytes = 255;

/// The limit for the numbers of connections between two ranks.
constexpr std::uint64_t kMostConnections = 1024;

constexpr std::size_t kFrameBytes = 36;
using EncodedFrame = std::array<std::byte, kFrameBytes>;

/// Longest chunk. What a slow connection holds up is at most this, and what it has buffered.
constexpr std::size_t kChunkBytes = 128 << 10;
/// Longest chunk of the only connection to a rank on this host: fewer system calls.
constexpr std::size_t kMostChunkBytes = 1 << 20;

EncodedFrame encode(const Frame& frame);

/// Throws ErrorKind::remote for anything that `encode` cannot have written, and for lengths that
/// contradict each other.
Frame decode_frame(std::span<const std::byte, kFrameBytes> bytes);

}  // namespace fastgpu::comm
