// What MPI carries ahead of a message's bytes, or with them where they are few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "comm/transports/rail.hpp"

namespace fastgpu::comm {

struct Envelope {
  MessageTag tag{};
  std::uint64_t bytes = 0;   ///< Of the message.
  std::uint32_t number = 0;  ///< Of MPI's messages that have them; 0: they are in here.
  std::optional<Note> note{};
  std::span<const std::byte> inside{};  ///< The message, where it is in here. Borrowed.
};

/// Short enough for MPI to send it at once, whatever the network.
constexpr std::size_t kEnvelopeBytes = 4096;
/// Most that has room in there, beside a note.
constexpr std::size_t kInsideBytes = kEnvelopeBytes - 21 - kNoteBytes;

/// Returns how many of `into`, which has kEnvelopeBytes, it takes.
std::size_t encode(const Envelope& envelope, std::span<std::byte> into);

/// Throws ErrorKind::remote for anything that `encode` cannot have written. Borrows `bytes`.
Envelope decode_envelope(std::span<const std::byte> bytes);

}  // namespace fastgpu::comm
