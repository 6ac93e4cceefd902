// One rank of this host as seen by another: both mailboxes between them, and what is on its way.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "comm/transports/mailbox.hpp"
#include "comm/transports/message_reader.hpp"
#include "comm/transports/numbered.hpp"
#include "comm/transports/peer_memory.hpp"
#include "comm/transports/shared_heap.hpp"
#include "comm/transports/shared_stores.hpp"
#include "comm/transports/staged_messages.hpp"
#include "comm/transports/tag_table.hpp"

namespace fastgpu::comm {

/// The memory by which a rank and a peer exchange messages.
struct PairMemory {
  Mailbox& out;
  Mailbox& in;
  StagedMessages& staged;  ///< The copies that this rank makes, for all peers.
  std::span<const std::byte> staged_by_peer;
  const SharedHeap& heap;
  PeerHeap heap_of_peer;
  PeerMemory
      memory_of_peer{};  ///< Memory of the peer that is not shared, if the kernel may read it.
};

/// Everything of SharedMemoryTransport that concerns one pair of ranks.
class SharedPeer {
 public:
  /// Borrows all: what the peer shares is mapped as long as this lives.
  SharedPeer(Rank rank, PairMemory pair, TransportEvents& events, UnaskedBytes& unasked,
             BarrierMaker barrier_maker)
      : rank_(rank),
        out_(pair.out),
        in_(pair.in),
        staged_(pair.staged),
        staged_by_peer_(pair.staged_by_peer),
        own_heap_(pair.heap),
        heap_(std::move(pair.heap_of_peer)),
        memory_(pair.memory_of_peer),
        reader_(memory_, in_.joint_copy(), into_places_),
        events_(events),
        unasked_(unasked),
        barrier_maker_(barrier_maker) {}

  void send(Outgoing& message);
  void receive(Incoming& message);
  /// Send or receive a message within the call (Transport::send_now).
  bool send_now(Outgoing& message);
  bool receive_now(Incoming& message);

  /// True where something moved. Throws where the peer wrote what makes no sense.
  bool progress();

  /// Whether there is a descriptor, and room for it.
  bool has_descriptors() const noexcept { return in_.has_descriptor() && may_take(); }

  /// Returns whether the peer has left something that can be read though it has ended.
  bool has_left() const noexcept { return has_descriptors() || reader_.reads_mapped(); }

  /// Whether there is something to do that no descriptor announces.
  bool is_busy() const noexcept {
    return reader_.is_busy() || joined_ || !cell_transfers_.empty() || !unsent_.empty() ||
           !answers_.empty();
  }

  /// True once after descriptors have been put.
  bool has_put() noexcept { return std::exchange(has_put_, false); }

  void abandon();

  /// Touches no message to it any more.
  void forget_outgoing();

 private:
  /// A message that has been announced, and that no receive has asked for yet.
  struct Arrival {
    Descriptor descriptor{};
    std::vector<std::byte> bytes{};
  };
  /// A message that the peer has not answered yet.
  struct Offered {
    Outgoing* message = nullptr;  ///< Null if it has been copied.
    std::optional<StagedMessages::Copy>
        copy{};  ///< Set if a copy was made: the message may be done.
  };
  /// A message to the peer of which this rank copies pieces, too.
  struct Joined {
    Outgoing* message = nullptr;
    std::uint32_t request = 0;
    std::uint32_t copy = 0;
    std::uint64_t address = 0;      ///< An address of the peer's.
    std::span<std::byte> mapped{};  ///< The peer's memory, if it is mapped here.
  };
  /// A message that goes through cells.
  struct CellTransfer {
    Outgoing* message = nullptr;
    std::uint32_t number = 0;
  };

  /// False where the peer is ahead of this rank, and has to wait.
  bool may_take() const noexcept { return !unasked_.is_full() || is_awaited(); }
  /// Whether something must come from the peer before this rank can go on.
  bool is_awaited() const noexcept {
    return wanted_.size() > 0 || offered_.size() > unread_copies_ || expected_.size() > 0 ||
           is_busy() || staged_.waits_for(rank_);
  }
  bool may_put() noexcept { return answers_.empty() && out_.has_room(); }
  bool try_to_send(Outgoing& message);
  bool has_room_for(Outgoing& message);
  static bool is_short(const Outgoing& message) noexcept;
  bool put_short(Outgoing& message);
  bool is_staged(const Outgoing& message) const noexcept;
  bool put_copied(Outgoing& message);
  void put_long(Outgoing& message);
  void put(const Descriptor& descriptor);
  void answer(DescriptorKind kind, const Descriptor::Terms& terms);
  bool flush();

  NoteForm form_of(const Note* note) const noexcept;
  void note_is_put(const Note* note) noexcept;
  void report_note(const Descriptor& descriptor);
  Arrival take_arrival(MessageTag tag);
  static bool is_whole(const Descriptor& descriptor, const Incoming& message);
  void complete(Incoming& message, std::span<const std::byte> bytes);
  bool deliver_now(Incoming& message, const Descriptor& descriptor);
  void open(const Descriptor& descriptor);
  void on_message(const Descriptor& descriptor);
  void on_wanted(const Descriptor& descriptor);
  void on_piece(const Descriptor& descriptor);
  void on_join(const Descriptor& descriptor);
  void invite(const MessageReader::Invitation& invited);
  void on_ack(const Descriptor& descriptor);
  void begin(Incoming& message, const Descriptor& descriptor, std::span<const std::byte> bytes);
  bool begin_reading(Incoming& message, const Descriptor::Terms& terms);
  void read_copy(Incoming& message, const Descriptor::Terms& terms);
  Outgoing* offered(std::uint32_t request);
  std::optional<std::span<std::byte>> mapped(const Descriptor::Terms& terms, std::uint64_t bytes);
  void keep(const Descriptor& descriptor, std::span<const std::byte> bytes);
  void deliver(Incoming& message, std::span<const std::byte> bytes);

  bool copy_to_cells();
  bool read();
  bool copy_joined();
  bool copy_piece_of(const Joined& joined, const CopyPiece& piece);

  Rank rank_;
  Mailbox& out_;
  Mailbox& in_;
  StagedMessages& staged_;
  std::span<const std::byte> staged_by_peer_;
  const SharedHeap& own_heap_;
  PeerHeap heap_;
  PeerMemory memory_;
  SharedStores into_ring_;    ///< The stores of bytes for the peer.
  SharedStores into_places_;  ///< The stores to places of messages, which the peer may have read.
  MessageReader reader_;
  std::optional<Joined> joined_;
  TransportEvents& events_;
  UnaskedBytes& unasked_;
  BarrierMaker barrier_maker_;  ///< The barriers belong to what is put for the peer.

  TagTable<Incoming*> wanted_;
  TagTable<Arrival> arrivals_;
  std::size_t arrived_bytes_ = 0;  ///< The bytes in `arrivals_`.
  Numbered<Offered> offered_;      ///< Offers and announcements that are not answered.
  std::size_t unread_copies_ = 0;  ///< The number of them that have been copied for the peer.
  Numbered<Incoming*> expected_;   ///< Messages that come through cells.
  std::deque<CellTransfer> cell_transfers_;
  std::deque<Descriptor> answers_;  ///< That the mailbox has no room for.
  std::deque<Outgoing*> unsent_;    ///< The messages that are not sent yet.
  /// The note that the next call has if it is like the last one. Absent before the first note.
  std::optional<Note> next_put_{};
  Note last_taken_{};  ///< The last note that has come.
  /// The last descriptor of `receive_now`: to make a new one for each takes as long as a message.
  Descriptor taken_{};
  bool has_sent_long_ = false;  ///< True if it did so since the last long message has come.
  bool has_put_ = false;
};

}  // namespace fastgpu::comm
