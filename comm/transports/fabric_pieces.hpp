// The long messages that a fabric transport receives: it grants piece after piece, and each comes
// to where this rank wants it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "comm/common/number_table.hpp"
#include "comm/fabric/fabric_endpoint.hpp"
#include "comm/transports/fabric_frames.hpp"
#include "comm/transports/fabric_memory.hpp"
#include "comm/transports/fabric_peer.hpp"

namespace fastgpu::comm {

/// The messages that are awaited, and their pieces that are granted.
class FabricPieces {
 public:
  /// `token` is the endpoint's.
  FabricPieces(fabric::FabricEndpoint& endpoint, std::uint64_t token,
               const RegisteredMemory& memory, ProgramMemory& program_memory, FabricFrames& frames,
               FabricHub& hub);

  /// Notes that the message is awaited. `advance` grants its first pieces.
  FabricReceiving& add(FabricPeer& from, Incoming& message);

  /// Grants as many pieces as may be on their way.
  void advance(FabricReceiving& receiving);
  /// Tries again where a piece could not be granted; returns whether one of these messages goes on.
  bool advance_stalled();

  /// Takes a piece that has been written with its number; returns false if no such is awaited.
  bool take_written(std::uint64_t number);
  /// Takes a piece that has come as a message.
  void take_tagged(FabricOperation& operation, std::size_t bytes);
  /// Takes a piece whose end the peer has reported. Throws ErrorKind::remote if it is not awaited.
  void take_done(FabricPeer& peer, const FabricGrant& done);
  void failed(FabricOperation& operation);

  bool are_stalled() const noexcept { return stalled_ > 0; }
  bool has_any_from(const FabricPeer& peer) const noexcept;

  /// Forgets messages from a peer that is lost.
  void forget(FabricPeer& peer);
  /// Ends the pieces from a peer that is lost: what nothing writes at once, the others once the
  /// fabric has given them back.
  void cancel(const FabricPeer& peer);

  /// Lets go of all messages: they are gone.
  void release_messages() noexcept;
  void clear() noexcept;

 private:
  /// A piece that this rank has granted.
  struct Piece : FabricOperation {
    FabricReceiving* receiving = nullptr;  ///< Null once it is forgotten.
    std::uint32_t number = 0;
    std::size_t offset = 0;
    fabric::FabricPart part{};
    bool is_staged = false;
    bool is_tagged = false;
    std::unique_ptr<fabric::FabricRegistration> own{};
    std::list<Piece>::iterator self{};
  };

  bool grant(FabricReceiving& receiving);
  void find_memory(Piece& piece);
  bool prepare(Piece& piece);
  void undo(Piece& piece);
  void arrived(Piece& piece);

  fabric::FabricEndpoint& endpoint_;
  std::uint64_t token_;
  const RegisteredMemory& memory_;
  ProgramMemory& program_memory_;
  FabricFrames& frames_;
  FabricHub& hub_;
  FabricBlocks staging_;
  std::list<FabricReceiving> receivings_;
  std::list<Piece> pieces_;
  NumberTable<Piece*> numbered_;  ///< Pieces by their number.
  std::uint32_t next_number_ = 0;
  std::size_t stalled_ = 0;  ///< The number of stalled `receivings_`.
};

}  // namespace fastgpu::comm
