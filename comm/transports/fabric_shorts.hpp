// The short messages of a fabric transport, which go in frames, and the credit by which a rank does
// not send more of them than the other takes.
#pragma once

#include <memory>
#include <span>

#include "comm/transports/fabric_frames.hpp"
#include "comm/transports/fabric_peer.hpp"

namespace fastgpu::comm {

/// The messages in both directions. A message waits until the peer has taken most of what was sent
/// before.
class FabricShorts {
 public:
  FabricShorts(FabricFrames& frames, FabricHub& hub);

  /// Adds a message to those that wait for the peer.
  void queue(FabricPeer& peer, Outgoing& message);

  /// Sends the first message that waits; returns false where it must wait.
  bool post(FabricPeer& peer);

  /// Returns whether no message waits but for the peer's credit.
  bool is_flushed(const FabricPeer& peer) const;

  /// Gives the message what has come for it; returns false if nothing has. Loses the peer if it has
  /// another length.
  bool deliver(FabricPeer& from, Incoming& message);
  void await(FabricPeer& from, Incoming& message) { from.wanted.add(message.tag, &message); }

  /// Takes a message that has come. Throws ErrorKind::remote for a message of another kind.
  void take(FabricPeer& from, const FabricFrame& frame);

  /// Takes the peer's word that it sends a long message. Refuses it where a short one is awaited.
  void take_offer(FabricPeer& from, const FabricFrame& frame) const;

  /// Takes the peer's report of what it has taken. Throws ErrorKind::remote if that is impossible,
  /// or shows that something got lost.
  void take_credit(FabricPeer& peer, const FabricFrame& frame);

  /// Lets the peer send more, unless it is too far ahead of this rank.
  void report_credit(FabricPeer& peer);
  void send_credit(FabricPeer& peer);

  /// Asks the peer if it has not reported all that was sent to it, or owes something, now and then
  /// again.
  void ask_for_credit(FabricPeer& peer);

  /// Lets a fabric that is cut be noticed before a wait of that length ends.
  void limit_waits(std::chrono::milliseconds timeout) noexcept;

  /// Handles an answer of the peer by another connection. Throws ErrorKind::remote if the peer has
  /// answered none of this fabric's questions for 20 s, and has had 5 s for them since it was heard
  /// elsewhere; both are less where waits are limited to less than 80 s.
  void check_silence(FabricPeer& peer, Rank self) const;

  /// Forgets messages to and from a peer that is lost; what has come from it stays.
  void forget(FabricPeer& peer);
  void drop_arrivals(FabricPeer& peer) noexcept;

 private:
  void offer_again(FabricPeer& peer);

  FabricFrames& frames_;
  FabricHub& hub_;
  UnaskedBytes unasked_;
  std::chrono::milliseconds silence_limit_;
  std::chrono::milliseconds answer_limit_;
};

}  // namespace fastgpu::comm
