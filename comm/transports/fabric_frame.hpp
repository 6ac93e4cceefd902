// The frames that ranks exchange by the fabric, beside the bytes of long messages. Each frame is a
// message of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "comm/fabric/plugin.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

enum class FabricFrameKind : std::uint8_t {
  message,   ///< A short message, with its note if it has one.
  note,      ///< The note of a long message.
  offer,     ///< A long message waits here of which no piece is granted.
  grant,     ///< The receiver of a long message awaits a piece of it, and where.
  done,      ///< A piece is in the receiver's memory.
  credit,    ///< A report of all that the receiver has taken.
  question,  ///< A request for a `credit` frame at once.
  hello,     ///< The first frame, in each direction.
  farewell   ///< The last frame: once it has left all before it have.
};

/// The receiver's wish for a piece of a long message.
struct FabricGrant {
  std::uint64_t total = 0;   ///< The length of the message.
  std::uint64_t offset = 0;  ///< The piece's.
  std::uint32_t length = 0;
  std::uint32_t number = 0;  ///< The receiver's, for the answer.
  bool is_tagged = false;    ///< The piece comes as a tagged message, else it is written.
  fabric::RemotePlace place{};
};

struct FabricFrame {
  FabricFrameKind kind = FabricFrameKind::message;
  std::uint32_t rank = 0;   ///< The sender's.
  std::uint64_t token = 0;  ///< The receiver's.
  MessageTag tag{};
  FabricGrant grant{};       ///< An `offer` has its total only, a `done` its number and length.
  std::uint64_t credit = 0;  ///< The cost of the short messages that were taken.
  std::uint64_t items = 0;   ///< The number of frames and pieces that were taken.
  std::optional<Note> note{};
  std::span<const std::byte> bytes{};  ///< The bytes of a `message`. Borrowed.
};

/// The most bytes of a frame.
constexpr std::size_t kFabricFrameBytes = 16 << 10;
constexpr std::size_t kFabricHead = 4 + 1 + 1 + 4 + 8 + 8;
/// The longest message that goes in a frame.
constexpr std::size_t kFabricInside = kFabricFrameBytes - kFabricHead - kNoteBytes;

/// The longest piece of a message. Providers in software pass it through a socket: it is better in
/// a core's second cache then (a message of 64 MiB took 15 ms in pieces of 4 MiB, and takes 11).
constexpr std::size_t kFabricPiece = 1 << 20;

/// Writes to `into`, which has room for the frame, and returns the number of bytes used.
std::size_t encode(const FabricFrame& frame, std::span<std::byte> into);

/// The part of a frame by which it is known where it comes from.
struct FabricSender {
  std::uint32_t rank = 0;
  std::uint64_t token = 0;
};

/// Reads the sender; returns false for bytes that are not a frame.
bool read_sender(std::span<const std::byte> bytes, FabricSender& sender);

/// Decodes a frame. Throws ErrorKind::remote for anything that `encode` cannot have written, and
/// for lengths that contradict each other. Borrows `bytes`.
FabricFrame decode_fabric_frame(std::span<const std::byte> bytes);

}  // namespace fastgpu::comm
