// A transport whose peers are connected while it is in use, so that it can take the place of one
// that has failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/transports/transport.hpp"

namespace fastgpu::comm {

/// The state of a meeting with a peer.
enum class PeerMeeting : std::uint8_t {
  begun,  ///< The peer's first frame has not come.
  done,   ///< Messages can go both ways.
  failed
};

class MeetingTransport : public Transport {
 public:
  /// Begins, before anything is sent. Borrows the listener.
  virtual void open(TransportEvents& events) = 0;

  /// Returns what a peer needs in order to meet this rank.
  virtual std::vector<std::byte> own_card() const = 0;

  /// Begins to meet a peer with that card, which does the same; returns false if that is not
  /// possible. Called at most once for a peer. Throws ErrorKind::remote for an invalid card.
  virtual bool begin_to_meet(Rank peer, std::span<const std::byte> card) = 0;
  virtual PeerMeeting meeting_with(Rank peer) const noexcept = 0;
  /// Ends a meeting that is not done.
  virtual void stop_meeting(Rank peer) noexcept = 0;
};

/// An opener of such transports.
class TransportSource {
 public:
  virtual ~TransportSource() = default;

  /// Begins to open a transport, in the background.
  virtual void request() = 0;
  /// Returns whether the requested transport is still being opened.
  virtual bool is_busy() const = 0;
  /// Returns the transport that was opened; null if that failed.
  virtual std::unique_ptr<MeetingTransport> take() = 0;
};

}  // namespace fastgpu::comm
