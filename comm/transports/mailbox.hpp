// The messages of one rank to another on its host, in memory that both map. It has a ring of
// descriptors, with the bytes of the shortest messages, a ring of bytes for small ones, and a few
// cells through which large ones are passed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "comm/transports/joint_copy.hpp"
#include "comm/transports/message_type.hpp"
#include "comm/transports/shared_stores.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

enum class DescriptorKind : std::uint8_t {
  inlined,  ///< A message whose bytes are in the descriptor, after the note if it has one.
  eager,    ///< A message whose bytes are next in the ring of bytes, with its note if it has one.
  offer,    ///< A message that the receiver reads in place: place, bytes, request.
  staged,   ///< A message that has been copied for the receiver: place of the copy, bytes, request.
  announce,  ///< A message that comes through cells once the receiver wants it, unless it reads it
             ///< in place: bytes, address, request.
  wanted,    ///< An answer to `announce`: request, and the receiver's own number for it.
  piece,     ///< The next cell holds bytes of the message that the receiver numbered so.
  join,  ///< An answer to `offer` and `announce`: the sender may copy pieces, too. The receiver's
         ///< address, request, and the number of the copy.
  join_in_heap,  ///< The same, with a place in the receiver's heap.
  ack,           ///< The answer to `offer`, `staged` or `announce`: its bytes may change now.
  note,          ///< A note alone, ahead of its message.
  turn           ///< Kept by the mailbox: the next descriptor is at the beginning of the ring.
};

/// The form in which a note goes with a descriptor.
enum class NoteForm : std::uint8_t {
  none,
  whole,
  next  ///< The note before, of the same sender, with its count one higher.
};

/// A message, or news of one, that a rank puts for another. In the ring it is as long as its used
/// part, in whole kStep: a cache line that travels between two cores takes longer than all else of
/// a short message, and should bring several.
struct Descriptor {
  static constexpr std::size_t kHead = 16;
  static constexpr std::size_t kBody = 112;
  static constexpr std::size_t kStep = 8;

  DescriptorKind kind = DescriptorKind::inlined;
  NoteForm note = NoteForm::none;  ///< A peer could write other values than these.
  std::uint16_t length = 0;        ///< The length of the message of `inlined` and `eager`.
  std::uint32_t is_put = 0;        ///< Kept by the mailbox: 1 once all of it can be read.
  MessageTag tag{};
  std::byte body[kBody] = {};  ///< The note, and then the bytes or the Terms.

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

  /// Returns the length of what it says, by its head; kBody at most.
  std::size_t used_body() const noexcept;
};
static_assert(sizeof(Descriptor) == Descriptor::kHead + Descriptor::kBody);
static_assert(offsetof(Descriptor, body) == Descriptor::kHead);
static_assert(offsetof(Descriptor, tag) == Descriptor::kStep);

/// The longest message that goes by the ring of bytes.
constexpr std::size_t kEagerBytes = 32 << 10;
/// The longest one if the receiver only copies it. Longer ones are read where they are, which takes
/// one copy less. A sum is made of what is in the ring: it takes no copy more than one that the
/// kernel has copied first.
constexpr std::size_t kEagerCopied = 8 << 10;
static_assert(kEagerCopied <= kEagerBytes && kEagerBytes <= UINT16_MAX);
constexpr std::size_t kCellBytes = 64 << 10;
constexpr std::uint64_t kCells = 8;

/// Which side sees to it that the receiver does not fall asleep unseen while a descriptor is put:
/// the sender puts and then looks whether it sleeps, the receiver says that it sleeps and then
/// looks for descriptors, with a barrier in between.
enum class BarrierMaker : bool {
  each,     ///< Each side makes its own.
  receiver  ///< The receiver makes it for both before it sleeps. Putting is cheaper.
};

/// One direction between two ranks. It is in shared memory, all zero to begin with.
class Mailbox {
 public:
  // ---- the sender's side ----
  bool has_room() noexcept;
  /// Puts a descriptor; there must be room.
  void put(const Descriptor& descriptor, BarrierMaker maker) noexcept;
  /// Puts an `inlined` one. `note` is used if it is whole; with it there are at most kBody bytes.
  void put_inlined(MessageTag tag, NoteForm form, const Note* note,
                   std::span<const std::byte> bytes, BarrierMaker maker) noexcept;
  /// Puts bytes; false if they have no room now. Otherwise the next descriptor must be the one for
  /// them.
  bool put_bytes(std::span<const std::byte> bytes, SharedStores& stores);
  /// Returns memory for the next `piece` descriptor; empty if all cells are full.
  std::span<std::byte> free_cell() noexcept;
  void cell_filled() noexcept { ++sender_.cells; }

  // ---- the receiver's side ----
  bool has_descriptor() const noexcept;
  /// Takes the next descriptor; false without one. It is a copy, because its writer could write
  /// there again, and has as much of a body as it uses.
  bool take(Descriptor& into) noexcept;
  /// Returns the bytes of an `eager` descriptor of `bytes` (at most kEagerBytes), until
  /// `drop_bytes`.
  std::span<const std::byte> bytes(std::size_t bytes) const noexcept;
  void drop_bytes(std::size_t bytes) noexcept;
  /// Returns the bytes of a `piece` descriptor, until `drop_cell`.
  std::span<const std::byte> cell() const noexcept;
  void drop_cell() noexcept;

  /// Returns the claims to the pieces of the message that both sides copy.
  JointCopy& joint_copy() noexcept { return joint_copy_; }

 private:
  /// The length of the ring of descriptors, in Descriptor::kStep: a part of a core's first cache.
  static constexpr std::uint64_t kSteps = 1024;
  static constexpr std::uint64_t kMostSteps = sizeof(Descriptor) / Descriptor::kStep;
  /// The most steps that a descriptor takes: its own, the end of the ring if it does not fit there,
  /// and the head of the next.
  static constexpr std::uint64_t kMostTaken = 2 * kMostSteps + 1;
  /// How far ahead the sender asks for memory to write to: it takes as long to come as a few
  /// descriptors take.
  static constexpr std::uint64_t kStepsAhead = 32;
  static constexpr std::uint64_t kRing = 128 << 10;

  /// Added in the ring to the form of a note: the tag is that of the descriptor before, of the next
  /// call, and is left out. So are most of those in a stream of short messages.
  static constexpr std::uint8_t kNextTag = 0x80;

  /// Positions since the beginning: steps of descriptors, bytes, and cells.
  struct Position {
    std::uint64_t steps = 0;
    std::uint64_t bytes = 0;
    std::uint64_t cells = 0;
    MessageTag tag{};  ///< The tag of the last descriptor.
  };

  static void copy_body(std::byte* into, const std::byte* from, std::uint64_t steps) noexcept;
  std::byte* place(std::uint64_t step) const noexcept { return steps_[step % kSteps]; }
  static std::uint64_t steps_left(std::uint64_t step) noexcept { return kSteps - step % kSteps; }
  static MessageTag next_tag(MessageTag tag) noexcept {
    return {tag.value + (std::uint64_t{1} << kCallShift)};
  }
  /// Returns the bytes of a head. Those before the tag have one step.
  static std::size_t head_with(bool has_next_tag) noexcept {
    return has_next_tag ? offsetof(Descriptor, tag) : Descriptor::kHead;
  }
  /// Returns the steps of a head and a body of so many bytes.
  static std::uint64_t steps_with(std::size_t head, std::size_t body) noexcept {
    return (head + body + Descriptor::kStep - 1) / Descriptor::kStep;
  }
  std::atomic_ref<std::uint32_t> is_put(std::uint64_t step) const noexcept;
  /// A place in the ring for a descriptor whose head has been written there.
  struct Begun {
    std::byte* body = nullptr;
    std::uint64_t steps = 0;
  };
  Begun begin_put(DescriptorKind kind, NoteForm note, std::size_t length, MessageTag tag,
                  std::size_t body) noexcept;
  void publish(std::uint64_t steps, BarrierMaker maker) noexcept;
  void ask_ahead() const noexcept;
  void drop_steps(std::uint64_t steps) noexcept;

  alignas(64) mutable std::byte steps_[kSteps][Descriptor::kStep];
  alignas(64) Position sender_;  ///< Written by the sender alone.
  /// The positions that the sender has last seen dropped. A further look takes a cache line.
  Position seen_dropped_;
  alignas(64) Position receiver_;  ///< Written by the receiver alone.
  alignas(64) std::atomic<std::uint64_t> steps_dropped_;
  std::atomic<std::uint64_t> bytes_dropped_;
  std::atomic<std::uint64_t> cells_dropped_;
  JointCopy joint_copy_;
  alignas(64) std::byte ring_[kRing];
  alignas(4096) std::byte cells_[kCells][kCellBytes];
};

// ---- what every message passes through ----

inline std::size_t Descriptor::used_body() const noexcept {
  const std::size_t of_note = note == NoteForm::whole ? kNoteBytes : 0;
  switch (kind) {
    case DescriptorKind::inlined:
      return std::min(of_note + length, kBody);
    case DescriptorKind::eager:
    case DescriptorKind::note:
      return of_note;
    case DescriptorKind::turn:
      return 0;
    default:
      return sizeof(Terms);
  }
}

inline std::atomic_ref<std::uint32_t> Mailbox::is_put(std::uint64_t step) const noexcept {
  std::byte* const head = place(step);
  return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(head + offsetof(Descriptor, is_put)));
}

inline bool Mailbox::has_room() noexcept {
  const auto is_free = [this] {
    return sender_.steps + kMostTaken - seen_dropped_.steps <= kSteps;
  };
  if (is_free()) return true;
  seen_dropped_.steps = steps_dropped_.load(std::memory_order_acquire);
  return is_free();
}

/// Lets the receiver read the next descriptor, of so many steps. The head that it looks at then
/// says that nothing is there.
inline void Mailbox::publish(std::uint64_t steps, BarrierMaker maker) noexcept {
  const auto ready = is_put(sender_.steps);
  sender_.steps += steps;
  is_put(sender_.steps).store(0, std::memory_order_relaxed);
  if (maker == BarrierMaker::each) {
    ready.exchange(1, std::memory_order_seq_cst);
  } else {
    ready.store(1, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
}

/// Fetches what will be written soon, for writing: the receiver has it in its cache.
inline void Mailbox::ask_ahead() const noexcept {
  const std::byte* const ahead = place(sender_.steps + kStepsAhead);
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*ahead));
#else
  __builtin_prefetch(ahead, 1);
#endif
}

/// Writes the head but for `is_put`.
inline Mailbox::Begun Mailbox::begin_put(DescriptorKind kind, NoteForm note, std::size_t length,
                                         MessageTag tag, std::size_t body) noexcept {
  assert(has_room());
  ask_ahead();
  const bool has_next_tag = tag == next_tag(sender_.tag);
  const std::size_t head = head_with(has_next_tag);
  const std::uint64_t steps = steps_with(head, body);
  sender_.tag = tag;
  if (const std::uint64_t left = steps_left(sender_.steps); steps > left) {
    place(sender_.steps)[offsetof(Descriptor, kind)] = static_cast<std::byte>(DescriptorKind::turn);
    publish(left, BarrierMaker::receiver);
  }
  std::byte* const into = place(sender_.steps);
  const auto short_length = static_cast<std::uint16_t>(length);
  into[offsetof(Descriptor, kind)] = static_cast<std::byte>(kind);
  into[offsetof(Descriptor, note)] =
      static_cast<std::byte>(static_cast<std::uint8_t>(note) | (has_next_tag ? kNextTag : 0));
  std::memcpy(into + offsetof(Descriptor, length), &short_length, sizeof(short_length));
  if (!has_next_tag) std::memcpy(into + offsetof(Descriptor, tag), &tag, sizeof(tag));
  return {into + head, steps};
}

inline void Mailbox::put(const Descriptor& descriptor, BarrierMaker maker) noexcept {
  const std::size_t body = descriptor.used_body();
  const Begun begun =
      begin_put(descriptor.kind, descriptor.note, descriptor.length, descriptor.tag, body);
  std::memcpy(begun.body, descriptor.body, body);
  publish(begun.steps, maker);
}

/// Uses no Descriptor in between: to set its body to zeros takes as long as all the rest.
inline void Mailbox::put_inlined(MessageTag tag, NoteForm form, const Note* note,
                                 std::span<const std::byte> bytes, BarrierMaker maker) noexcept {
  const std::size_t of_note = form == NoteForm::whole ? kNoteBytes : 0;
  const Begun begun =
      begin_put(DescriptorKind::inlined, form, bytes.size(), tag, of_note + bytes.size());
  if (of_note > 0) std::memcpy(begun.body, note->data(), kNoteBytes);
  if (!bytes.empty()) std::memcpy(begun.body + of_note, bytes.data(), bytes.size());
  publish(begun.steps, maker);
}

inline bool Mailbox::has_descriptor() const noexcept {
  return is_put(receiver_.steps).load(std::memory_order_seq_cst) != 0;
}

/// Copies so many steps. Most bodies have four at most, for which a call or a string instruction
/// takes longer than the copy.
inline void Mailbox::copy_body(std::byte* into, const std::byte* from,
                               std::uint64_t steps) noexcept {
  constexpr std::size_t kStep = Descriptor::kStep;
  if (steps > 4) {
    std::memcpy(into, from, steps * kStep);
    return;
  }
  if (steps >= 2) std::memcpy(into, from, 2 * kStep);
  if (steps == 4) std::memcpy(into + 2 * kStep, from + 2 * kStep, 2 * kStep);
  if (steps % 2 == 1) std::memcpy(into + (steps - 1) * kStep, from + (steps - 1) * kStep, kStep);
}

inline bool Mailbox::take(Descriptor& into) noexcept {
  if (!has_descriptor()) return false;
  const std::byte* const from = place(receiver_.steps);
  const std::uint64_t left = steps_left(receiver_.steps);
  std::memcpy(reinterpret_cast<std::byte*>(&into), from, Descriptor::kStep);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // Prevents a second read from there.
  const auto note = static_cast<std::uint8_t>(into.note);
  const bool has_next_tag = (note & kNextTag) != 0;
  const std::size_t head = head_with(has_next_tag);
  // A peer could say that a descriptor is longer than the ring, or that the ring has none.
  const bool is_at_end = left * Descriptor::kStep < head;
  if (is_at_end || (into.kind == DescriptorKind::turn && left < kSteps)) {
    drop_steps(left);
    return take(into);
  }
  into.note = static_cast<NoteForm>(note & ~kNextTag);
  into.tag = next_tag(receiver_.tag);
  if (!has_next_tag) std::memcpy(&into.tag, from + offsetof(Descriptor, tag), sizeof(into.tag));
  receiver_.tag = into.tag;
  const std::uint64_t steps = std::min(steps_with(head, into.used_body()), left);
  copy_body(into.body, from + head, steps - head / Descriptor::kStep);
  drop_steps(steps);
  return true;
}

/// Published now and then: the sender's look at it costs a cache line's journey.
inline void Mailbox::drop_steps(std::uint64_t steps) noexcept {
  constexpr std::uint64_t kQuarter = kSteps / 4;
  const std::uint64_t before = receiver_.steps;
  receiver_.steps += steps;
  if (before / kQuarter != receiver_.steps / kQuarter)
    steps_dropped_.store(receiver_.steps, std::memory_order_release);
}

}  // namespace fastgpu::comm
