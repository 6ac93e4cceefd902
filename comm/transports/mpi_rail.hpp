// Messages by MPI, between ranks without another way that is as fast.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "comm/mpi/messages.hpp"
#include "comm/transports/lent_memory.hpp"
#include "comm/transports/mpi_envelope.hpp"
#include "comm/transports/numbered.hpp"
#include "comm/transports/rail.hpp"
#include "comm/transports/tag_table.hpp"

namespace fastgpu::comm {

/// The rail of MPI. A short message goes in its envelope. A long one follows its envelope in
/// pieces, of which the receiver requests some from MPI at a time, once the message is wanted.
///
/// MPI moves data only while it is called: `progress` must be called as long as `may_sleep` is
/// false, even if this rank waits for no message.
class MpiRail final : public Rail {
 public:
  /// Serves a job of `size` ranks, whose numbers are MPI's. Borrows `events`.
  MpiRail(std::unique_ptr<mpi::Messages> messages, int size, RailEvents& events);

  /// Waits until others have found their messages, but not for long.
  ~MpiRail() override;

  RailCaps caps() const noexcept override { return {}; }
  std::vector<std::byte> address() const override { return {}; }
  bool connect(Rank, std::span<const std::byte>) override { return true; }

  void send(Outgoing& message) override;
  void receive(Incoming& message) override;
  bool progress() override;
  bool may_sleep() override;
  void woke() override {}
  int descriptor() const noexcept override { return -1; }

  /// Leaves to MPI the memory that it may still write.
  void abandon() noexcept override;

  /// Forgets a rank that has gone: messages to it are touched no more.
  void forget(Rank peer);

 private:
  struct Posted {
    Rank to{};
    LentMemory envelope;
  };
  struct Arriving {
    Rank from{};
    std::size_t bytes = 0;
    LentMemory envelope;
  };
  /// A message that has been announced and is not asked for yet.
  struct Arrival {
    std::uint64_t bytes = 0;
    std::uint32_t number = 0;
    std::vector<std::byte> inside{};
  };
  struct Piece {
    std::size_t bytes = 0;
    LentMemory lent;
  };
  /// A long message, piece by piece.
  template <class Message>
  struct Stream {
    Message* message = nullptr;
    std::uint32_t number = 0;
    std::size_t begun = 0;  ///< Bytes whose transfer MPI has begun.
    std::deque<Piece> pieces{};
  };
  struct Peer {
    TagTable<Incoming*> wanted{};
    TagTable<Arrival> arrivals{};
    std::size_t arrived_bytes = 0;    ///< Bytes in `arrivals`.
    Numbered<Outgoing*> sending{};    ///< Long messages; MPI's number for each is one higher.
    std::deque<Outgoing*> waiting{};  ///< Messages that wait for a free number.
    bool is_lost = false;
  };

  Peer& peer(Rank rank) { return peers_.at(static_cast<std::size_t>(rank.value)); }
  void post(const Envelope& envelope, Rank to);
  void begin_long(Outgoing& message);
  bool collect();
  bool find();
  bool open_arrived();
  void open(Rank from, std::span<const std::byte> bytes);
  void keep(Peer& from, const Envelope& envelope);
  void begin(Incoming& message, const Arrival& what, std::span<const std::byte> inside);
  void lose(Rank rank, const Error& error);

  template <class Message>
  bool advance_all(std::list<Stream<Message>>& streams);
  template <class Message>
  bool advance(Stream<Message>& stream);
  Piece begin_piece(const Stream<Outgoing>& stream);
  Piece begin_piece(const Stream<Incoming>& stream);
  void end_piece(const Stream<Outgoing>& /*stream*/, Piece& /*piece*/) {}
  void end_piece(const Stream<Incoming>& stream, Piece& piece);
  void ended(const Stream<Outgoing>& stream);
  void ended(const Stream<Incoming>& stream) { events_.received(*stream.message); }

  std::unique_ptr<mpi::Messages> messages_;
  RailEvents& events_;
  std::vector<Peer> peers_;  ///< Indexed by rank.
  MemoryPool envelopes_;
  MemoryPool staging_;
  std::list<Posted> posted_;       ///< Envelopes that their receivers may not have found.
  std::deque<Arriving> arriving_;  ///< Envelopes that this rank has found.
  std::list<Stream<Outgoing>> outgoing_;
  std::list<Stream<Incoming>> incoming_;
  std::size_t wanted_ = 0;  ///< Messages that this rank awaits and that are not announced.
};

}  // namespace fastgpu::comm
