// Messages by the fabric: a network that moves them, and writes into the memory of other ranks, by
// itself. Short ones go in frames. Of a long one the receiver grants piece after piece, and each is
// put where the receiver wants it.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm/common/deadline.hpp"
#include "comm/fabric/card.hpp"
#include "comm/fabric/endpoint.hpp"
#include "comm/transports/fabric_frame.hpp"
#include "comm/transports/fabric_memory.hpp"
#include "comm/transports/tag_table.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

class FabricTransport final : public Transport {
 public:
  /// Makes the transport of a rank among `size`. Throws ErrorKind::capacity if too little memory
  /// may be locked.
  FabricTransport(Rank self, int size, std::unique_ptr<fabric::FabricEndpoint> endpoint);

  /// Waits until what was sent has left, but not for long.
  ~FabricTransport() override;

  const fabric::Traits& traits() const noexcept { return endpoint_->traits(); }

  /// Returns what another rank must know in order to connect.
  fabric::Card card() const;

  /// Connects to a peer with that card, and returns whether that was possible. Used only where both
  /// sides could.
  bool connect(Rank peer, const fabric::Card& card);
  void disconnect(
      Rank peer) noexcept;  ///< Undoes `connect`, where the peer could not or has not met.

  /// Exchanges a first frame with each connected peer, while these do the same. Returns for those
  /// with which it failed what went wrong; they are not reached.
  std::map<Rank, std::string> meet(Deadline deadline);

  /// Begins, before anything is sent. Borrows the listener.
  void open(TransportEvents& events);

  TransportCapabilities capabilities() const noexcept override {
    return {.is_free_to_poll = traits().is_hardware,
            .moves_only_when_called = true,
            .delay_of_last_messages = std::chrono::milliseconds(100)};
  }
  bool reaches(Rank peer) const noexcept override;
  void send(Outgoing& message) override;
  void receive(Incoming& message) override;
  bool progress() override;
  bool may_sleep() override;
  int poll_descriptor() const noexcept override { return endpoint_->descriptor(); }
  bool needs_progress() const noexcept override;

  bool is_quiet() const noexcept override;
  void forget(Rank lost) override;
  void abandon() noexcept override;
  void allocated(std::span<std::byte> memory) override;
  void freed(const std::byte* memory) noexcept override;

  /// Returns the number of frames that came from no rank of this job.
  std::size_t strangers() const noexcept { return strangers_; }

 private:
  struct Peer;

  enum class Role : std::uint8_t { frame_in, frame_out, put, piece };
  /// Something that the fabric does. It stays where it is until its completion has been read.
  struct Operation : fabric::OperationSpace {
    Role role = Role::frame_in;
    Peer* peer = nullptr;  ///< Null for `frame_in`.
  };
  struct FrameOperation : Operation {
    fabric::FabricPart block{};
    std::list<FrameOperation>::iterator self{};
  };
  /// A piece that this rank puts into a peer's memory.
  struct PutOperation : Operation {
    Outgoing* message = nullptr;  ///< Null once it is forgotten.
    FabricGrant grant{};
    std::unique_ptr<fabric::FabricRegistration>
        own{};  ///< Null if the memory is registered otherwise.
    std::list<PutOperation>::iterator self{};
  };
  /// A long message that this rank awaits.
  struct Receiving {
    Incoming* message = nullptr;
    Peer* from = nullptr;
    std::size_t granted = 0;  ///< Bytes.
    std::size_t pieces = 0;   ///< Pieces that are granted and have not come.
    bool is_stalled = false;  ///< The next piece could not be granted yet.
    std::list<Receiving>::iterator self{};
  };
  /// A piece that this rank has granted.
  struct Piece : Operation {
    Receiving* receiving = nullptr;  ///< Null once it is forgotten.
    std::uint32_t number = 0;
    std::size_t offset = 0;
    fabric::FabricPart part{};
    bool is_staged = false;
    bool is_tagged = false;
    std::unique_ptr<fabric::FabricRegistration> own{};
    std::list<Piece>::iterator self{};
  };
  /// A long message that this rank sends.
  struct Sending {
    Outgoing* message = nullptr;
    std::size_t granted = 0;
  };
  struct Control {
    std::array<std::byte, 96> bytes{};
    std::size_t size = 0;
    bool is_counted = true;  ///< The receiver reports that it has taken it.
    bool is_short = true;    ///< May be sent without a completion.
  };

  struct Peer {
    Rank rank{};
    fabric::PeerNumber number = 0;
    std::uint64_t token = 0;
    fabric::Put put = fabric::Put::none;  ///< The way of both directions.
    bool is_lost = false;
    bool is_met = false;
    bool is_reached = true;

    // The things to send.
    bool is_busy = false;  ///< A member of `busy_`.
    std::deque<Control> controls{};
    std::deque<Outgoing*> shorts{};  ///< The most urgent first.
    TagTable<Sending> sending{};     ///< Long messages.
    TagTable<std::vector<FabricGrant>> early_grants{};
    std::size_t early = 0;           ///< The number of `early_grants`.
    std::list<PutOperation> puts{};  ///< The most urgent first.
    std::size_t under_way = 0;       ///< Puts that have begun.
    std::uint64_t sent = 0;          ///< The cost of all short messages.
    std::uint64_t credit = 0;        ///< The part of it that the peer has taken.
    std::uint64_t items_sent = 0;    ///< Frames and pieces.
    std::uint64_t items_known = 0;   ///< The part of them that the peer has taken.
    std::uint64_t items_asked = 0;   ///< The value of `items_sent` at the last question.
    bool has_injected = false;       ///< Frames have left whose end nothing reports.

    // The things that have come.
    std::uint64_t items_taken = 0;  ///< Frames and pieces.
    TagTable<Incoming*> wanted{};   ///< Short messages.
    TagTable<std::vector<std::byte>> arrivals{};
    std::size_t arrived_bytes = 0;     ///< The cost of `arrivals`.
    TagTable<Receiving*> receiving{};  ///< Long messages.
    std::uint64_t taken = 0;           ///< The cost of all short messages.
    std::uint64_t reported = 0;        ///< The part of it that the peer knows.
  };

  Peer* peer_of(Rank rank) const { return peers_.at(static_cast<std::size_t>(rank.value)).get(); }
  bool is_closed(const Peer* peer) const noexcept {
    return is_stopped_ || peer == nullptr || peer->is_lost;
  }

  bool is_meeting() const noexcept;

  // Frames.
  FabricFrame frame_to(const Peer& peer, FabricFrameKind kind) const;
  void control(Peer& peer, const FabricFrame& frame);
  void greet(Peer& peer);
  void post_receives();
  bool inject(Peer& peer, std::span<const std::byte> encoded);
  bool post(Peer& peer, const Control& frame);
  bool post_short(Peer& peer);
  bool post_block(Peer& peer, const fabric::FabricPart& block, std::size_t bytes);
  void flush(Peer& peer) noexcept;
  bool flush_all(Peer& peer);
  bool flush_busy();

  // Long messages that this rank sends.
  void grant_arrived(Peer& peer, MessageTag tag, const FabricGrant& grant);
  void accept(Peer& peer, Sending& sending, const FabricGrant& grant);
  bool post_put(Peer& peer);
  void put_ended(PutOperation& put);

  // Long messages that this rank receives.
  void advance(Receiving& receiving);
  bool advance_stalled();
  bool grant_piece(Receiving& receiving);
  bool prepare(Piece& piece, std::size_t bytes);
  void undo(Piece& piece);
  void piece_arrived(Piece& piece);

  // What comes.
  bool poll_queue();
  void complete(const fabric::PortCompletion& completion);
  void fail(Operation& operation, int error);
  void open_frame(std::span<const std::byte> bytes);
  void take(Peer& peer, const FabricFrame& frame);
  void take_short(Peer& peer, const FabricFrame& frame);
  void take_done(Peer& peer, const FabricGrant& done);
  void report_credit(Peer& peer);
  void send_credit(Peer& peer);
  void ask_for_credit();
  bool is_awaited(const Peer& peer) const noexcept;

  void lose(Peer& peer, const Error& error) noexcept;
  void end_operations(const Peer& peer);
  bool has_operations(const Peer& peer) const noexcept;
  void say_farewell();
  void stop() noexcept;

  Rank self_;
  std::unique_ptr<fabric::FabricEndpoint> endpoint_;  ///< Outlives all memory that it uses.
  std::uint64_t token_;
  TransportEvents* events_ = nullptr;
  std::vector<std::unique_ptr<Peer>> peers_;  ///< Indexed by rank; null where not connected.
  RegisteredMemory memory_;
  FabricBlocks frames_;
  FabricBlocks staging_;
  std::deque<FrameOperation> frames_in_;
  std::vector<FrameOperation*> unposted_;  ///< Members of `frames_in_`.
  std::list<FrameOperation> frames_out_;   ///< Under way.
  std::list<PutOperation> puts_;           ///< Under way.
  std::list<Receiving> receivings_;
  std::list<Piece> pieces_;
  TagTable<Piece*> numbered_;  ///< Pieces by their number.
  std::uint32_t next_number_ = 0;
  std::size_t stalled_ = 0;  ///< The number of stalled `receivings_`.
  std::vector<Peer*> busy_;  ///< Peers for which something waits.
  UnaskedBytes unasked_;
  std::vector<std::byte> scratch_;  ///< Memory for frames that are sent as copies.
  std::size_t strangers_ = 0;
  bool is_stopped_ = false;
};

}  // namespace fastgpu::comm
