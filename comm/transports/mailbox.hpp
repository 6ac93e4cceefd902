// The messages of one rank to another on its host, in memory that both map. It has a ring of short
// descriptors, a ring of bytes for small messages, and a few cells through which large ones are
// passed.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

enum class DescriptorKind : std::uint8_t {
  inlined,   ///< A message whose bytes are in the descriptor, after the note if it has one.
  eager,     ///< A message whose bytes are next in the ring of bytes, with its note if it has one.
  offer,     ///< A message that the receiver reads in place: place, bytes, request.
  announce,  ///< A message that comes through cells once the receiver wants it, unless it reads it
             ///< in place: bytes, address, request.
  wanted,    ///< An answer to `announce`: request, and the receiver's own number for it.
  piece,     ///< The next cell holds bytes of the message that the receiver numbered so.
  ack,       ///< The answer to `offer`, or `announce`: its bytes may change now.
  note       ///< A note alone, ahead of its message.
};

/// A descriptor of one cache line.
struct Descriptor {
  static constexpr std::size_t kBody = 48;

  DescriptorKind kind = DescriptorKind::inlined;
  /// True unless 0. Not a bool: a peer could write a value that is neither.
  std::uint8_t has_note = 0;
  std::uint16_t length = 0;  ///< The length of the message of `inlined` and `eager`.
  std::uint32_t stamp = 0;   ///< Kept by the mailbox.
  MessageTag tag{};
  std::byte body[kBody] = {};

  struct Terms {
    std::uint64_t bytes = 0;
    /// The place in a region of the heap, or in the message; or an address.
    std::uint64_t offset = 0;
    std::uint32_t request = 0;
    std::uint32_t number = 0;
    std::uint32_t region = 0;
    std::uint32_t generation = 0;
  };
  void set(const Terms& terms) noexcept;
  Terms terms() const noexcept;
};
static_assert(sizeof(Descriptor) == 64);

/// The longest message that goes by the ring of bytes.
constexpr std::size_t kEagerBytes = 32 << 10;
/// The longest one if the receiver only copies it. Longer ones are read where they are, which takes
/// one copy less. A sum is made of what is in the ring: it takes no copy more than one that the
/// kernel has copied first.
constexpr std::size_t kEagerCopied = 8 << 10;
static_assert(kEagerCopied <= kEagerBytes && kEagerBytes <= UINT16_MAX);
constexpr std::size_t kCellBytes = 64 << 10;
constexpr std::uint64_t kCells = 8;

/// One direction between two ranks. It is in shared memory, all zero to begin with.
class Mailbox {
 public:
  // ---- the sender's side ----
  bool has_room() noexcept;
  /// Puts a descriptor; there must be room.
  void put(const Descriptor& descriptor) noexcept;
  /// Puts bytes; false if they have no room now. Otherwise the next descriptor must be the one for
  /// them.
  bool put_bytes(std::span<const std::byte> bytes) noexcept;
  /// Returns memory for the next `piece` descriptor; empty if all cells are full.
  std::span<std::byte> free_cell() noexcept;
  void cell_filled() noexcept { ++sender_.cells; }

  // ---- the receiver's side ----
  bool has_descriptor() const noexcept;
  /// Returns the next descriptor; absent without one. A copy, because its writer could write there
  /// again.
  std::optional<Descriptor> take() noexcept;
  /// Returns the bytes of an `eager` descriptor of `bytes` (at most kEagerBytes), until
  /// `drop_bytes`.
  std::span<const std::byte> bytes(std::size_t bytes) const noexcept;
  void drop_bytes(std::size_t bytes) noexcept;
  /// Returns the bytes of a `piece` descriptor, until `drop_cell`.
  std::span<const std::byte> cell() const noexcept;
  void drop_cell() noexcept;

 private:
  static constexpr std::uint64_t kDescriptors = 128;
  static constexpr std::uint64_t kRing = 128 << 10;

  struct Slot {
    alignas(64) std::byte bytes[sizeof(Descriptor)];
  };
  struct Position {
    std::uint64_t descriptors = 0;
    std::uint64_t bytes = 0;
    std::uint64_t cells = 0;
  };

  std::atomic_ref<std::uint32_t> stamp_of(std::uint64_t descriptor) const noexcept;
  static std::uint32_t lap(std::uint64_t descriptor) noexcept {
    return static_cast<std::uint32_t>(descriptor / kDescriptors + 1);
  }

  mutable Slot slots_[kDescriptors];
  alignas(64) Position sender_;  ///< Written by the sender alone.
  /// The positions that the sender has last seen dropped. A further look takes a cache line.
  Position seen_dropped_;
  alignas(64) Position receiver_;  ///< Written by the receiver alone.
  alignas(64) std::atomic<std::uint64_t> descriptors_dropped_;
  std::atomic<std::uint64_t> bytes_dropped_;
  std::atomic<std::uint64_t> cells_dropped_;
  alignas(64) std::byte ring_[kRing];
  alignas(4096) std::byte cells_[kCells][kCellBytes];
};

// ---- what every message passes through ----

inline std::atomic_ref<std::uint32_t> Mailbox::stamp_of(std::uint64_t descriptor) const noexcept {
  std::byte* const slot = slots_[descriptor % kDescriptors].bytes;
  return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(slot + offsetof(Descriptor, stamp)));
}

inline bool Mailbox::has_room() noexcept {
  if (sender_.descriptors - seen_dropped_.descriptors < kDescriptors) return true;
  seen_dropped_.descriptors = descriptors_dropped_.load(std::memory_order_acquire);
  return sender_.descriptors - seen_dropped_.descriptors < kDescriptors;
}

inline void Mailbox::put(const Descriptor& descriptor) noexcept {
  assert(has_room());
  const std::uint64_t at = sender_.descriptors++;
  std::byte* const slot = slots_[at % kDescriptors].bytes;
  constexpr std::size_t kStamp = offsetof(Descriptor, stamp);
  const auto* from = reinterpret_cast<const std::byte*>(&descriptor);
  std::memcpy(slot, from, kStamp);
  std::memcpy(slot + kStamp + sizeof(descriptor.stamp), from + kStamp + sizeof(descriptor.stamp),
              sizeof(Descriptor) - kStamp - sizeof(descriptor.stamp));
  // Sequentially consistent, as is the look at the receiver's sleep that follows.
  stamp_of(at).exchange(lap(at), std::memory_order_seq_cst);
}

inline bool Mailbox::has_descriptor() const noexcept {
  const std::uint64_t at = receiver_.descriptors;
  return stamp_of(at).load(std::memory_order_seq_cst) == lap(at);
}

inline std::optional<Descriptor> Mailbox::take() noexcept {
  if (!has_descriptor()) return std::nullopt;
  std::optional<Descriptor> descriptor(std::in_place);
  std::memcpy(&*descriptor, slots_[receiver_.descriptors % kDescriptors].bytes, sizeof(Descriptor));
  std::atomic_signal_fence(std::memory_order_seq_cst);  // Prevents a second read from there.
  // Published now and then: the sender's look at it costs a cache line's journey.
  if (++receiver_.descriptors % (kDescriptors / 4) == 0)
    descriptors_dropped_.store(receiver_.descriptors, std::memory_order_release);
  return descriptor;
}

}  // namespace fastgpu::comm
