// Messages by MPI, between ranks without another way that is as fast.
#pragma once

#include <chrono>
#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "comm/mpi/messages.hpp"
#include "comm/transports/lent_memory.hpp"
#include "comm/transports/mpi_envelope.hpp"
#include "comm/transports/numbered.hpp"
#include "comm/transports/tag_table.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

/// The transport of MPI. A short message goes in its envelope. A long one follows its envelope in
/// pieces, of which the receiver requests some from MPI at a time, once the message is wanted.
class MpiTransport final : public Transport {
 public:
  /// Serves a job of `size` ranks, whose numbers are MPI's. Borrows `events`.
  MpiTransport(std::unique_ptr<mpi::MpiMessages> messages, int size, TransportEvents& events);

  /// Waits until others have found their messages, but not for long.
  ~MpiTransport() override;

  TransportCapabilities capabilities() const noexcept override {
    return {.moves_only_when_called = true,
            .delay_of_last_messages = std::chrono::milliseconds(100)};
  }
  bool reaches(Rank) const noexcept override { return true; }
  void send(Outgoing& message) override;
  void receive(Incoming& message) override;
  bool progress() override;
  bool may_sleep() override { return !needs_progress(); }
  bool needs_progress() const noexcept override;

  /// Returns false: only MPI knows what is on its way.
  bool is_quiet() const noexcept override { return false; }
  void forget(Rank lost) override;

  /// Leaves to MPI the memory that it may still write.
  void abandon() noexcept override;
  std::vector<LinkCounters> links() const override { return {link_}; }

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
    MessageTag tag{};
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

  std::unique_ptr<mpi::MpiMessages> messages_;
  TransportEvents& events_;
  std::vector<Peer> peers_;  ///< Indexed by rank.
  MemoryPool envelopes_;
  MemoryPool staging_;
  std::list<Posted> posted_;       ///< Envelopes that their receivers may not have found.
  std::deque<Arriving> arriving_;  ///< Envelopes that this rank has found.
  std::list<Stream<Outgoing>> outgoing_;
  std::list<Stream<Incoming>> incoming_;
  std::size_t wanted_ = 0;  ///< Messages that this rank awaits and that are not announced.
  LinkCounters link_{.name = "mpi"};
};

}  // namespace fastgpu::comm
