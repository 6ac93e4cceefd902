// How messages move between this rank and the others of its job: one interface for every kind of
// wire. Schedules and the engine that runs them know this and nothing of sockets or memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/strong.hpp"
#include "comm/common/rank.hpp"
#include "comm/kernels/reduce.hpp"

namespace fastgpu::comm {

/// Names one message between two ranks in one direction. Used again only after that message has
/// arrived.
using MessageTag = Strong<struct MessageTagTag, std::uint64_t>;

/// A few bytes that travel ahead of a message, and are shown before anybody asks for it.
constexpr std::size_t kNoteBytes = 32;
using Note = std::array<std::byte, kNoteBytes>;

/// Where the bytes of a message go, piece by piece and in any order.
struct Sink {
  std::span<std::byte> memory{};
  std::optional<Reduction> reduction{};  ///< Absent: what comes is stored.

  /// Puts `piece` at `offset`. A reducing sink takes whole elements.
  void take(std::size_t offset, std::span<const std::byte> piece) const;

  /// Whether it takes so many bytes there.
  bool accepts(std::uint64_t offset, std::uint64_t bytes) const noexcept;
};

/// What all peers of a rail may send together before it is asked for. Beyond it those peers are not
/// read from that this rank awaits nothing of: they wait until there is room again.
constexpr std::size_t kMostUnasked = 256 << 20;
/// The same where what is awaited is behind it; more ends the job.
constexpr std::size_t kMostUnaskedAtAll = 4 * kMostUnasked;
/// Charged for each message, so that empty ones are bounded too.
constexpr std::size_t kArrivalCost = 256;

/// What the peers of one rail have sent before it was asked for.
class UnaskedBytes {
 public:
  /// Throws ErrorKind::remote where there is no room at all.
  void add(std::size_t bytes) {
    if (bytes_ + bytes > kMostUnaskedAtAll)
      throw Error(ErrorKind::remote,
                  "it sent 1 GiB that was not asked for, ahead of what this rank waits for");
    bytes_ += bytes;
  }
  void remove(std::size_t bytes) noexcept { bytes_ -= bytes; }
  bool is_full() const noexcept { return bytes_ >= kMostUnasked; }

 private:
  std::size_t bytes_ = 0;
};

/// One message that this rank sends. It belongs to whoever sends it; the rail borrows it, its bytes
/// and its note until it calls RailEvents::sent.
struct Outgoing {
  Rank peer{};
  MessageTag tag{};
  std::span<const std::byte> bytes{};
  const Note* note = nullptr;  ///< Null: none.
  std::int32_t priority = 0;   ///< Higher overtakes what is under way, where the rail can do that.
  std::size_t moved = 0;       ///< Bytes on their way, kept by the rail.
};

/// One message that this rank awaits, of exactly as many bytes as its sink has. Borrowed until
/// RailEvents::received.
struct Incoming {
  Rank peer{};
  MessageTag tag{};
  Sink sink{};
  std::size_t moved = 0;  ///< Bytes that have come, kept by the rail.
};

/// What rails report, only from within send, receive and progress. May not call back into them.
class RailEvents {
 public:
  virtual ~RailEvents() = default;

  virtual void sent(Outgoing& message) = 0;  ///< Its bytes may change now.
  virtual void received(Incoming& message) = 0;
  virtual void noted(Rank from, MessageTag tag, const Note& note) = 0;

  /// Nothing more comes from `peer`, and nothing goes there. A peer that sent nonsense is
  /// ErrorKind::remote too.
  virtual void lost(Rank peer, const Error& error) = 0;
};

/// What a rail can do, for whoever chooses between rails and between schedules.
struct RailCaps {
  bool is_within_host = false;
  bool reads_senders_memory = false;  ///< Where it comes from Engine::allocate: nothing is copied.
  int flows = 1;                      ///< Connections that one message may be spread over.
};

/// Messages match by their tag alone, in whatever order the two sides ask for them. One thread at a
/// time.
class Rail {
 public:
  virtual ~Rail() = default;

  virtual RailCaps caps() const noexcept = 0;

  /// What another rank must know in order to connect; opaque, at most 255 bytes.
  virtual std::vector<std::byte> address() const = 0;

  /// Whether `peer`, whose rail has this address, can be reached this way. Used only where both
  /// sides say so.
  virtual bool connect(Rank peer, std::span<const std::byte> address) = 0;

  /// Neither blocks; both may report at once that the message is done.
  virtual void send(Outgoing& message) = 0;
  virtual void receive(Incoming& message) = 0;

  /// Moves what can be moved without waiting; false where that was nothing.
  virtual bool progress() = 0;

  /// Call before sleeping, and sleep only where it returns true: from then on whatever arrives
  /// makes `descriptor`, or that of another rail, readable.
  virtual bool may_sleep() = 0;
  virtual void woke() = 0;
  virtual int descriptor() const noexcept = 0;  ///< For poll(); -1 for none.

  /// Forgets all messages: their memory is touched no more.
  virtual void abandon() noexcept = 0;
};

}  // namespace fastgpu::comm
