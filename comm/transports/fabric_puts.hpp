// The long messages that a fabric transport sends: pieces that the receiver has granted are put
// into its memory.
#pragma once

#include <cstddef>
#include <list>
#include <span>

#include "comm/fabric/fabric_endpoint.hpp"
#include "comm/transports/fabric_frames.hpp"
#include "comm/transports/fabric_memory.hpp"
#include "comm/transports/fabric_peer.hpp"

namespace fastgpu::comm {

/// The messages that are sent, and their puts that are under way.
class FabricPuts {
 public:
  FabricPuts(fabric::FabricEndpoint& endpoint, const RegisteredMemory& memory,
             ProgramMemory& program_memory, FabricFrames& frames, FabricHub& hub);

  /// Begins to send a message. Loses the peer if it has granted what the message does not have.
  void send(FabricPeer& peer, Outgoing& message);

  /// Takes the peer's wish for a piece. Throws ErrorKind::remote if it makes no sense.
  void take_grant(FabricPeer& peer, MessageTag tag, const FabricGrant& grant);

  /// Returns whether a put waits that may begin beside those under way.
  bool may_begin(const FabricPeer& peer) const noexcept;

  /// Begins the most urgent put; returns false where the endpoint's queue is full.
  bool begin(FabricPeer& peer);

  void ended(FabricOperation& operation);
  void failed(FabricOperation& operation);

  bool are_under_way() const noexcept { return !under_way_.empty(); }
  bool has_any_to(const FabricPeer& peer) const noexcept;

  /// Forgets messages to a peer that is lost, and cancels the puts that have begun.
  void forget(FabricPeer& peer);
  void cancel(const FabricPeer& peer);

  /// Lets go of the messages of puts that have begun: they are gone.
  void release_messages() noexcept;
  void clear() noexcept;

 private:
  void accept(FabricPeer& peer, FabricSending& sending, MessageTag asked, const FabricGrant& grant);
  void report_done(FabricPeer& peer, const FabricGrant& grant);
  bool find_memory(FabricPut& put, fabric::FabricPart& part);
  bool copy(FabricPut& put, std::span<const std::byte> source);
  static bool take(FabricPut& put, FabricBlocks& blocks);
  void give_back(FabricPut& put);

  fabric::FabricEndpoint& endpoint_;
  const RegisteredMemory& memory_;
  ProgramMemory& program_memory_;
  FabricFrames& frames_;
  FabricHub& hub_;
  FabricBlocks short_blocks_;    ///< Memory for copies of up to kMaxCopied.
  FabricBlocks long_blocks_;     ///< Memory for copies of what may not be registered.
  std::size_t long_copies_ = 0;  ///< The number of these in use.
  std::list<FabricPut> under_way_;
};

}  // namespace fastgpu::comm
