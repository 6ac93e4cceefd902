// The interface of every way in which messages move between this rank and the others of its job.
// The engine that runs schedules knows this, and nothing of sockets, shared memory or MPI.
#pragma once

#include <array>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/strong.hpp"
#include "comm/common/caused_error.hpp"
#include "comm/common/rank.hpp"
#include "comm/kernels/copy.hpp"
#include "comm/kernels/reduce.hpp"
#include "comm/transports/heap.hpp"

namespace fastgpu::comm {

/// Names one message between two ranks in one direction. Used again only after that message has
/// arrived.
using MessageTag = Strong<struct MessageTagTag, std::uint64_t>;

/// A few bytes that travel ahead of a message, and are shown before anybody asks for it.
constexpr std::size_t kNoteBytes = 32;
using Note = std::array<std::byte, kNoteBytes>;
/// The place in a note of the number that counts, in 8 bytes as WireWriter puts them. Notes of
/// calls that are alike differ in it alone.
constexpr std::size_t kCountInNote = 8;

/// The receiver of the bytes of a message, piece by piece and in any order.
struct MessageSink {
  std::span<std::byte> memory{};
  std::optional<Reduction> reduction{};  ///< Absent: what comes is stored.
  bool was_read_by_others = false;       ///< Whether they may have the place in their caches.

  /// Puts `piece` at `offset`. A reducing sink takes whole elements.
  void take(std::size_t offset, std::span<const std::byte> piece) const {
    assert(offset <= memory.size() && piece.size() <= memory.size() - offset);
    const auto target = memory.subspan(offset, piece.size());
    if (piece.empty() || target.data() == piece.data()) return;
    if (reduction)
      reduce_into(target, piece, *reduction);
    else if (piece.size() < kShortCopy)
      std::memcpy(target.data(), piece.data(), piece.size());
    else
      copy_bytes(target, piece, memory.size());
  }

  /// The length below which a copy is not worth a call.
  static constexpr std::size_t kShortCopy = 4 << 10;

  /// Whether it takes so many bytes there.
  bool accepts(std::uint64_t offset, std::uint64_t bytes) const noexcept;
};

/// The limit for the bytes that all peers of a transport may send together before a call asks for
/// them. Beyond it those peers are not read from that this rank awaits nothing of: they wait until
/// there is room again.
constexpr std::size_t kMostUnasked = 256 << 20;
/// The limit for unasked bytes ahead of the awaited ones; more ends the job.
constexpr std::size_t kMostUnaskedAtAll = 4 * kMostUnasked;
/// Charged for each message, so that empty ones are bounded too.
constexpr std::size_t kArrivalCost = 256;

/// The bytes that the peers of one transport have sent before a call asked for them.
class UnaskedBytes {
 public:
  /// Throws ErrorKind::remote if more than kMostUnaskedAtAll would be kept.
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

/// One message that this rank sends. The sender owns it; the transport borrows
/// it, its bytes and its note until it calls TransportEvents::sent.
struct Outgoing {
  Rank peer{};
  MessageTag tag{};
  std::span<const std::byte> bytes{};
  const Note* note = nullptr;  ///< Null: none.
  /// Higher overtakes what is under way, where the transport can do that.
  std::int32_t priority = 0;
  bool is_reduced = false;  ///< The receiver may reduce it, and does not only copy it.
  /// How many messages of the same call have the same bytes, to this and other ranks.
  std::uint32_t same_messages = 1;
  std::size_t moved = 0;  ///< Bytes on their way, kept by the transport.
};

/// One message that this rank awaits, of exactly as many bytes as its sink has. Borrowed until
/// TransportEvents::received.
struct Incoming {
  Rank peer{};
  MessageTag tag{};
  MessageSink sink{};
  std::size_t moved = 0;  ///< Bytes that have come, kept by the transport.
};

/// A listener to transports, called only from within send, receive and progress. It may not call
/// back into them.
class TransportEvents {
 public:
  virtual ~TransportEvents() = default;

  virtual void sent(Outgoing& message) = 0;  ///< Its bytes may change from now on.
  virtual void received(Incoming& message) = 0;
  virtual void noted(Rank from, MessageTag tag, const Note& note) = 0;

  /// Reports that nothing more comes from `peer`, and nothing goes there. A peer that sent nonsense
  /// is ErrorKind::remote too.
  virtual void lost(Rank peer, const Error& error) = 0;

  /// Returns the cause that is sent to a peer whose message is refused with `error`: as far as this
  /// rank knows it. A peer in another call has sent a message of another length, for example.
  virtual CausedError cause_of_refusal(Rank peer, const Error& error) const {
    return {error.during(name_of(peer)), peer};
  }

  /// Reports, in a sentence for the user, what makes the job slower and does not end it.
  virtual void warned(const std::string& /*sentence*/) {}

  /// Reports that the transport has one more of its `descriptors`.
  virtual void opened(int /*descriptor*/) {}
  /// Reports that one of the transport's `descriptors` is about to be closed.
  virtual void closing(int /*descriptor*/) {}
};

/// The counts of one network, or of another way on which messages go, since the beginning.
struct LinkCounters {
  std::string name{};                 ///< "tcp 10.0.0.1", "shared memory".
  bool is_within_node = false;        ///< True for memory that the ranks of a node share.
  std::uint64_t frames_sent = 0;      ///< Pieces of messages over TCP, else messages.
  std::uint64_t frames_received = 0;  ///< The counterpart of those that were sent.
  std::uint64_t bytes_sent = 0;       ///< The bytes of messages in these.
  std::uint64_t bytes_received = 0;
  std::uint64_t direct_bytes = 0;  ///< The bytes that went directly from or to a GPU's memory.
  std::uint64_t failures = 0;      ///< Connections that were given up while their peer went on.
  std::uint64_t reconnects = 0;    ///< Connections that were made in place of these.
  std::uint64_t connections = 0;   ///< The number of open connections.

  void count_sent(std::size_t bytes) noexcept {
    ++frames_sent;
    bytes_sent += bytes;
  }
  void count_received(std::size_t bytes) noexcept {
    ++frames_received;
    bytes_received += bytes;
  }
};

/// The properties of a transport; they do not change.
struct TransportCapabilities {
  int flows = 1;  ///< Connections that one message may be spread over.
  /// Bytes of the longest message that `send_now` and `receive_now` may move; 0: none.
  std::size_t most_now = 0;
  bool is_free_to_poll = false;  ///< `progress` costs no system call.
  /// Data moves only within `progress`: a thread must call it while something is under way, and
  /// may sleep before only where the transport has a `poll_descriptor`.
  bool moves_only_when_called = false;
  /// The time within which messages that a rank sent may arrive after the news of its loss.
  std::chrono::milliseconds delay_of_last_messages{0};
};

/// A carrier of messages between this rank and others. Messages match by their tag alone, in
/// whatever order the two sides ask for them. No function waits. One thread at a time.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual TransportCapabilities capabilities() const noexcept = 0;

  /// Returns whether messages to and from `peer` can go this way: the same on both sides.
  virtual bool reaches(Rank peer) const noexcept = 0;

  /// Begin; both may report at once that the message is done.
  virtual void send(Outgoing& message) = 0;
  virtual void receive(Incoming& message) = 0;

  /// Sends or receives a short message within the call, and reports nothing. Returns false if that
  /// cannot be done now: the message may then be begun, or tried again. A note that it carries is
  /// reported.
  virtual bool send_now(Outgoing& /*message*/) { return false; }
  virtual bool receive_now(Incoming& /*message*/) { return false; }

  /// Moves what can be moved without waiting; returns false where that was nothing.
  virtual bool progress() = 0;

  /// Moves what others wait for while this rank has nothing under way: all that `progress` moves,
  /// unless the transport knows better. Messages that no receive has asked for may stay where they
  /// are.
  virtual bool tend() { return progress(); }

  /// Prepares for sleep, and returns whether it is safe: from then on whatever arrives makes
  /// `poll_descriptor`, or that of another transport, readable. `woke` follows the sleep.
  virtual bool may_sleep() = 0;
  virtual void woke() {}
  virtual int poll_descriptor() const noexcept {
    return -1;
  }  ///< A descriptor for poll(); -1: none.

  /// Returns true while `progress` must be called even if this rank waits for no message.
  virtual bool needs_progress() const noexcept { return false; }

  /// Returns whether nothing that was sent is on its way and nothing is left unread; false if that
  /// is unknown.
  virtual bool is_quiet() const noexcept = 0;

  /// Returns whether something of a rank that is lost has arrived and is not read.
  virtual bool has_arrived(Rank /*lost*/) const noexcept { return false; }

  /// Tells that a rank has answered by another connection: it lives, and moves its messages. A
  /// network that has carried nothing from it for long is then lost.
  virtual void answers_elsewhere(Rank /*peer*/) {}

  /// Forgets the messages to a rank that is lost: their memory is touched no more.
  virtual void forget(Rank /*lost*/) {}

  /// Forgets all messages: their memory is touched no more.
  virtual void abandon() noexcept = 0;

  /// Returns the descriptors that a child made by fork must not keep open.
  virtual std::vector<int> descriptors() const { return {}; }

  /// Returns the counts of each network that the transport uses.
  virtual std::vector<LinkCounters> links() const = 0;

  /// Spreads messages over this many connections, if it has as many. May change between messages.
  virtual void use_flows(int /*flows*/) {}

  /// Returns the memory from which receivers read directly; null without such memory.
  virtual Heap* heap() noexcept { return nullptr; }

  /// Prepares memory for messages, once for all that come from it or go to it until `freed`. Throws
  /// ErrorKind::capacity.
  virtual void allocated(std::span<std::byte> /*memory*/) {}
  virtual void freed(const std::byte* /*memory*/) noexcept {}

  /// Prepares memory of a GPU for messages, until it is given back; false if it must pass through
  /// the host. Memory that is not a GPU's is refused, too.
  virtual bool take_device_memory(std::span<std::byte> /*memory*/) { return false; }
  virtual void give_back_device_memory(std::span<const std::byte> /*memory*/) noexcept {}
  /// Returns a sentence on the way of memory of GPUs; empty for a transport within a machine.
  virtual std::string report_of_device_memory() const { return {}; }
};

}  // namespace fastgpu::comm
