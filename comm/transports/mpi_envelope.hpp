// The envelope that MPI carries ahead of a message's bytes, or with them if they are few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

struct Envelope {
  MessageTag tag{};
  std::uint64_t bytes = 0;   ///< The length of the message.
  std::uint32_t number = 0;  ///< The number of MPI's messages with the bytes; 0: they are in here.
  std::optional<Note> note{};
  std::span<const std::byte> inside{};  ///< The message, if it is in here. Borrowed.
};

/// The length of an envelope, short enough for MPI to send it at once on any network.
constexpr std::size_t kEnvelopeBytes = 4096;
/// The most bytes that have room in it, beside a note.
constexpr std::size_t kInsideBytes = kEnvelopeBytes - 21 - kNoteBytes;

/// Writes to `into`, which has kEnvelopeBytes, and returns the number of bytes used.
std::size_t encode(const Envelope& envelope, std::span<std::byte> into);

/// Decodes an envelope. Throws ErrorKind::remote for anything that `encode` cannot have written.
/// Borrows `bytes`.
Envelope decode_envelope(std::span<const std::byte> bytes);

}  // namespace fastgpu::comm
