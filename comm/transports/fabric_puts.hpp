// The long messages that a fabric transport sends: pieces that the receiver has granted are put
// into its memory.
#pragma once

#include <list>

#include "comm/fabric/endpoint.hpp"
#include "comm/transports/fabric_frames.hpp"
#include "comm/transports/fabric_memory.hpp"
#include "comm/transports/fabric_peer.hpp"

namespace fastgpu::comm {

/// The messages that are sent, and their puts that are under way.
class FabricPuts {
 public:
  FabricPuts(fabric::FabricEndpoint& endpoint, const RegisteredMemory& memory, FabricFrames& frames,
             FabricHub& hub)
      : endpoint_(endpoint), memory_(memory), frames_(frames), hub_(hub) {}

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
  void clear() noexcept { under_way_.clear(); }

 private:
  void accept(FabricPeer& peer, FabricSending& sending, const FabricGrant& grant);
  void report_done(FabricPeer& peer, const FabricGrant& grant);

  fabric::FabricEndpoint& endpoint_;
  const RegisteredMemory& memory_;
  FabricFrames& frames_;
  FabricHub& hub_;
  std::list<FabricPut> under_way_;
};

}  // namespace fastgpu::comm
